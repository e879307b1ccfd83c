"""purge: every trace of kschedpatch goes, and with it the second scheduler that it has made."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from kschedpatch.cluster import deployments, objects
from kschedpatch.cluster.kubectl import UNANSWERED, Kubectl
from kschedpatch.core.deployment import records
from kschedpatch.core.deployment.records import Record
from kschedpatch.core.objects import deciding
from kschedpatch.core.objects.troubles import selector_of
from kschedpatch.model.clusterplan import (
    Action,
    Entry,
    Key,
    ObjectChange,
    ObjectResult,
    Ref,
)
from kschedpatch.model.codes import found
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.finding import Finding
from kschedpatch.rollout.deploymentlook import is_files, is_own
from kschedpatch.rollout.objects import Reach

_SECONDS = 60.0


class Purge(NamedTuple):
    target: DeploymentTarget
    steps: tuple[ObjectChange, ...]
    runs: tuple[Record, ...]
    findings: tuple[Finding, ...] = ()
    leases: tuple[Ref, ...] = ()
    """What its pods have elected by: they have made them, and nobody else wants them."""


class Purged(NamedTuple):
    results: tuple[ObjectResult, ...]
    left: tuple[str, ...]
    detail: str = ""


def plan_purge(reach: Reach, target: DeploymentTarget) -> Purge:
    try:
        return _plan(reach.kubectl(), target)
    except UNANSWERED as error:
        words = (str(error).strip().splitlines() or ["no answer"])[0][:300]
        return Purge(target, (), (), (found("N088", f"{target.title}: {words}"),))


def _plan(kubectl: Kubectl, target: DeploymentTarget) -> Purge:
    runs = deployments.kept_runs(kubectl, target)
    # Of several runs the newest knows best; what an older one alone names is a ConfigMap, or gone.
    entries: dict[Key, Entry] = {}
    for run in runs:
        for entry in run.ledger.entries:
            if entry.body is not None and (run.outcome != records.RESTORED or is_files(entry)):
                entries.setdefault(entry.ref.key, entry)
    refs = [target.ref, *(entry.ref for entry in entries.values())]
    seen = objects.look(kubectl, refs)
    live = seen.live.get(target.ref.key)
    if live is not None and not is_own(live):
        return Purge(target, (), runs, (_of_others(target, runs),))
    leases = tuple(ref for entry in entries.values() for ref in _leases(entry))
    own = entries.pop(target.ref.key, None)
    steps = [step for step in (deciding.leave(e, seen) for e in entries.values()) if step]
    if live is not None:
        first = ObjectChange(Action.DELETE, target.ref, None, live=live)
        steps.insert(0, first if own is None else first._replace(source=own.source))
    return Purge(target, tuple(steps), runs, leases=leases)


def _leases(entry: Entry) -> Iterator[Ref]:
    """By the role that was made for it."""
    if entry.ref.kind != "Role" or not entry.ref.name.endswith(":lease"):
        return
    for rule in (entry.body or {}).get("rules") or ():
        if "leases" in rule.get("resources", ()):
            for name in rule.get("resourceNames") or ():
                yield Ref("coordination.k8s.io/v1", "Lease", entry.ref.namespace, str(name))


def _of_others(target: DeploymentTarget, runs: tuple[Record, ...]) -> Finding:
    message = f"{target.title} was not made by kschedpatch"
    last = records.in_force(runs)
    hint = ""
    if last is not None and last.after is not None:
        hint = f"kschedpatch rollback --to original --deployment {target} takes a patch back"
    return found("N086", message, hint=hint)


def purge(reach: Reach, plan: Purge) -> Purged:
    kubectl, target = reach.kubectl(), plan.target
    try:
        acted = objects.put_back(kubectl, plan.steps)
        if acted.left:
            titles = tuple(step.ref.title for step in acted.left)
            return Purged(acted.results, titles, acted.detail)
        _wait_for_pods(kubectl, plan)
        if plan.leases:
            kubectl.delete_all([ref.bare for ref in plan.leases])
        deployments.forget_files(kubectl, target, ())
        deployments.forget_records(kubectl, target, plan.runs)
        deployments.unlock(kubectl, target)
    except UNANSWERED as error:
        return Purged((), (target.title,), str(error).splitlines()[0])
    kept = Ref("v1", "Secret", target.namespace, f"kschedpatch-{target.name}-…").title
    extra = (ObjectResult(f"{kept} ({len(plan.runs)} runs)", Action.DELETE),) if plan.runs else ()
    return Purged((*acted.results, *extra), ())


def _wait_for_pods(kubectl: Kubectl, plan: Purge) -> None:
    """A scheduler that still runs would make its lease anew."""
    live = next((step.live for step in plan.steps if step.ref == plan.target.ref), None)
    chosen = selector_of(live) if live is not None else ""
    end = time.monotonic() + _SECONDS
    while chosen and plan.leases and time.monotonic() < end:
        if not kubectl.listed("pods", plan.target.namespace, "-l", chosen):
            return
        time.sleep(1)
