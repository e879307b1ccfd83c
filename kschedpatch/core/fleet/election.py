"""Old and new schedulers run side by side during a roll-out: would both work on the same pods?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedpatch.core.fleet.canary import Scheduler
from kschedpatch.core.fleet.serving import scheduler_container
from kschedpatch.core.manifest.document import Manifest
from kschedpatch.core.manifest.flags import effective
from kschedpatch.core.schedconfig.election import Election, election
from kschedpatch.core.schedconfig.read import read_config
from kschedpatch.core.staging import CONFIG_NAME
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.fleetplan import FleetPlan

_DEFAULT_PROFILE = "default-scheduler"


def election_findings(
    live: Scheduler, after: Manifest, config: dict[str, Any], *, nodes: int
) -> Iterator[Finding]:
    """``config`` is the configuration that the patch brings; empty where it brings none."""
    old = live.election
    if old is None:
        return  # nobody could read its configuration: what it elects on is not known
    if live.manifest.text == after.text or _DEFAULT_PROFILE not in profile_names(config):
        return
    new = election(config, effective(scheduler_container(after)))
    if nodes > 1 and not new.enabled:
        message = f"without leader election all {nodes} nodes would schedule the same pods"
        yield found("N024", message, file=after.file, hint="leave --leader-elect=true")
    elif new.enabled and old.enabled and _lease(old) != _lease(new):
        message = (
            f"the live scheduler holds the lease {_lease(old)}, the patch's would hold "
            f"{_lease(new)}, and both serve {_DEFAULT_PROFILE}"
        )
        hint = "keep the lease, or give all profiles a schedulerName of their own"
        yield found("N024", message, file=after.file, hint=hint)


def profile_names(config: dict[str, Any]) -> frozenset[str]:
    profiles = config.get("profiles")
    names = [
        str(profile.get("schedulerName") or _DEFAULT_PROFILE)
        for profile in (profiles if isinstance(profiles, list) else ())
        if isinstance(profile, dict)
    ]
    return frozenset(names or [_DEFAULT_PROFILE])


def probed_profile(plan: FleetPlan) -> str:
    """A schedulerName that the new schedulers serve: ordinary pods' where they do."""
    for node in plan.nodes:
        for item in node.generation.files if node.generation is not None else ():
            if item.name == CONFIG_NAME and item.file.content is not None:
                config = read_config(item.file.content, item.name).config
                names = profile_names(config.value if config is not None else {})
                return _DEFAULT_PROFILE if _DEFAULT_PROFILE in names else min(names)
    return _DEFAULT_PROFILE


def _lease(chosen: Election) -> str:
    return f"{chosen.namespace}/{chosen.name}"
