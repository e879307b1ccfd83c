"""The patch's own probe pods as the last proof of a roll-out (`apply --probe`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kschedpatch.cluster.kubectl import Kubectl
from kschedpatch.cluster.probe import ProbeFailed
from kschedpatch.model.fleetplan import FleetPlan

if TYPE_CHECKING:
    from kschedpatch.model.probing import ProbeAsked


class PodProbe(NamedTuple):
    pods: tuple[ProbeAsked, ...]
    config: dict[str, Any]


def pod_probe_of(plan: FleetPlan) -> PodProbe:
    """From the plan alone: the patch in it has its probe pods with it."""
    # Only some runs have a patch with pods, and what reads patches is heavy.
    from kschedpatch.core.fleet.verifying.expectations import (  # noqa: PLC0415
        config_value,
        planned_config,
    )
    from kschedpatch.core.fleet.verifying.probes import probes_of  # noqa: PLC0415
    from kschedpatch.inputs.keptpatches import (  # noqa: PLC0415
        UnreadablePatch,
        read_kept_patch,
    )

    try:
        given = read_kept_patch(plan.patch_text.encode(), "patch.yaml")
    except UnreadablePatch:
        return PodProbe((), {})
    text = next((planned_config(node) for node in plan.nodes), None)
    return PodProbe(probes_of(given), config_value(text))


def send_through(
    probe: PodProbe,
    kubectls: Sequence[Kubectl],
    hosts: Sequence[str],
    say: Callable[[str], None],
    go_on: Callable[[], None],
) -> tuple[str, ...]:
    """What is worth noting; ProbeFailed where a pod is not treated as the patch expects."""
    if not probe.pods:
        return ("--probe: the patch has no pods for it (spec.verify.pods)",)
    from kschedpatch.cluster.probepods import probe_pods  # noqa: PLC0415  as above
    from kschedpatch.core.fleet.verifying.probes import probe_checks  # noqa: PLC0415
    from kschedpatch.model.checks import CheckState  # noqa: PLC0415

    report = probe_pods(kubectls, probe.pods, say, go_on)
    checks = [*probe_checks(report, probe.config, hosts)]
    failed = [check for check in checks if check.state is CheckState.FAILED]
    if failed:
        raise ProbeFailed("; ".join(f"{check.subject}: {check.evidence}" for check in failed))
    warned = [check for check in checks if check.state is CheckState.WARNING]
    return tuple(f"{check.subject}: {check.evidence}" for check in warned)
