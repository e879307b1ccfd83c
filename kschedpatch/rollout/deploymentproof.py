"""What proves a scheduler's Deployment beside its pods being ready: its rights, and a pod that it
must judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from kschedpatch.cluster.access import ask_rights
from kschedpatch.cluster.deploymentwatch import RolloutFailed, Say, Watch
from kschedpatch.cluster.kubectl import Kubectl
from kschedpatch.cluster.probe import probe
from kschedpatch.core.deployment.progress import fatal_sign
from kschedpatch.core.deployment.served import beside_stock
from kschedpatch.core.fleet.verifying.probes import probes_of
from kschedpatch.core.fleet.verifying.rights import Right, account_user, can_i, rights_of
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.model.deploymentplan import DeploymentPlan
from kschedpatch.model.rollout import FailureReason
from kschedpatch.rollout.podprobe import PodProbe, send_through

#: The API server's authorizer hears of new roles a moment later.
_SECONDS = 10.0


def rights_asked(given: PatchInput, plan: DeploymentPlan) -> tuple[Right, ...]:
    return (*rights_of(given), *_on_lease(plan.lease))


def _on_lease(lease: str) -> Iterator[Right]:
    namespace, _, name = lease.partition("/")
    for verb in ("get", "update") if name else ():
        yield Right(verb, "leases", "coordination.k8s.io", name=name, namespace=namespace)


def check_rights(
    kubectl: Kubectl, plan: DeploymentPlan, asked: tuple[Right, ...], go_on: Callable[[], None]
) -> None:
    """As its ServiceAccount: what is missing shows before anything runs by it."""
    user = account_user(plan.target.namespace, plan.account)
    end = time.monotonic() + _SECONDS
    while True:
        answers = ask_rights(kubectl, asked, user)
        missing = [answer.right for answer in answers if not answer.allowed]
        if not missing:
            return
        if time.monotonic() > end:
            break
        go_on()
        time.sleep(1)
    told = ", ".join(right.told for right in missing)
    lines = tuple(can_i(right, user) for right in missing[:5])
    raise RolloutFailed(FailureReason.RBAC, f"{user} may not {told}", lines=lines)


def send_probe(
    kubectl: Kubectl, run: str, plan: DeploymentPlan, watch: Watch
) -> tuple[bool, tuple[str, ...]]:
    """Whether the scheduler was asked, and what is worth noting."""

    def still_stands() -> None:
        look = watch.look()
        sign = fatal_sign(look.pods) if look is not None else None
        if sign is not None:
            raise RolloutFailed(sign.reason, sign.told)

    said = probe(kubectl, run, plan.profiles[0], still_stands)
    return said.answered, () if said.answered else (f"the probe was left out: {said.detail}",)


def send_pods(
    kubectl: Kubectl,
    given: PatchInput,
    plan: DeploymentPlan,
    say: Say,
    go_on: Callable[[], None],
) -> tuple[str, ...]:
    """The patch's own probe pods."""
    pods = PodProbe(probes_of(given), beside_stock(plan.config))
    return send_through(pods, [kubectl], (), say, go_on)
