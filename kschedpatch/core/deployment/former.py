"""A Deployment's former states: what it is without a patch, and how it becomes what it was."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import NamedTuple

from kschedpatch.core.deployment import records
from kschedpatch.core.deployment.files import TARGET_LABEL
from kschedpatch.core.deployment.merging import unapplied
from kschedpatch.core.deployment.records import Record
from kschedpatch.core.objects import marks
from kschedpatch.core.objects.marks import MANAGED_BY, PATCH_LABEL
from kschedpatch.model.clusterplan import Ledger, Object
from kschedpatch.model.codes import found
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.finding import Finding
from kschedpatch.model.revision import ORIGINAL

#: What decides which pods run, and how they are exchanged. How many is not a run's business.
_SPEC = ("template", "strategy", "progressDeadlineSeconds", "minReadySeconds")
_OWN = {
    "labels": (PATCH_LABEL, MANAGED_BY, TARGET_LABEL),
    "annotations": (marks.RUN, marks.ORIGIN),
}
_NOTHING = Ledger("", "")


class Unpatched(NamedTuple):
    base: Object
    """What a patch is applied to."""
    applied: Object
    """What the last run has applied to it; empty where none has."""


def without_patch(live: Object, runs: Iterable[Record], target: DeploymentTarget) -> Unpatched:
    """The live Deployment without what the last run has applied."""
    given = marks.as_given(live)
    run = marks.note_of(live, marks.RUN)
    made = next((record for record in runs if record.run == run), None)
    entry = made.of(target) if made is not None else None
    if entry is None or entry.body is None or entry.original is None:
        return Unpatched(given, {})
    ours, original = entry.body.get("spec") or {}, entry.original.get("spec") or {}
    base = {**given, "spec": unapplied(given.get("spec") or {}, ours, original)}
    return Unpatched(base, entry.body)


def runs_as(live: Object | None, wanted: Object | None) -> bool:
    """Whether its pods are those of the other: by the template, as the API server completes it."""
    if live is None or wanted is None:
        return live is wanted
    one, other = ((body.get("spec") or {}).get("template") for body in (live, wanted))
    return bool(one == other)


def returned(live: Object, wanted: Object) -> Object:
    """The live Deployment with the former one's pods; its resource version guards the change."""
    body = copy.deepcopy({key: value for key, value in live.items() if key != "status"})
    body["metadata"].pop("managedFields", None)
    then = wanted.get("spec") or {}
    for key in _SPEC:
        body["spec"].pop(key, None)
        if key in then:
            body["spec"][key] = copy.deepcopy(then[key])
    for part, keys in _OWN.items():
        there = dict(body["metadata"].get(part) or {})
        former = (wanted.get("metadata") or {}).get(part) or {}
        for key in keys:
            there.pop(key, None)
            if key in former:
                there[key] = former[key]
        body["metadata"][part] = there
    return body


class Way(NamedTuple):
    """Where a rollback goes to."""

    run: str
    """Whose state, or ``original``."""
    deployment: Object | None
    """None: there was none, so that it goes."""
    ledger: Ledger


def way_back(runs: Iterable[Record], target: DeploymentTarget, to: str | None) -> Way | Finding:
    """``to`` is a run's id, ``original``, or None for one step back."""
    every = records.in_order(runs)
    ended, last = records.open_ones(every), records.in_force(every)
    newest = ended[0] if ended else last
    if newest is None:
        return found("N085", f"{target.title}: no run of kschedpatch is kept in the cluster")
    if to is not None and to != ORIGINAL:
        chosen = next((r for r in every if r.run == to and r.outcome == records.CONFIRMED), None)
        if chosen is None:
            message = f"{target.title}: no confirmed run {to} is kept"
            return found("N085", message, hint="kschedpatch history shows them")
        return Way(to, chosen.after, chosen.ledger)
    if to == ORIGINAL:
        entry = newest.of(target)
        return Way(ORIGINAL, entry.original if entry is not None else None, _NOTHING)
    # Only runs of apply count: or a second rollback would bring back what the first took away.
    step = newest if newest.kind == "apply" or ended else _made(every, newest)
    if step is None:
        return found("N085", f"{target.title}: it is as before the first run already")
    entry, former = step.of(target), records.before(every, step.run)
    ledger = former.ledger if former is not None else _NOTHING
    return Way(step.run, entry.before if entry is not None else None, ledger)


def _made(runs: tuple[Record, ...], rollback: Record) -> Record | None:
    """The run of apply that made the state to which that rollback went."""
    applied = (r for r in runs if r.kind == "apply" and r.outcome == records.CONFIRMED)
    return next((r for r in applied if r.after and runs_as(r.after, rollback.after)), None)
