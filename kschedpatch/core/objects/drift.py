"""Has the cluster still got what the last run brought? By its ledger and one look. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kschedpatch.core.fleet.verifying.checking import checked, unchecked
from kschedpatch.core.objects import marks
from kschedpatch.core.objects.deciding import Seen, Wish, decide, wishes
from kschedpatch.core.yamltext import emit
from kschedpatch.model.checks import Check
from kschedpatch.model.clusterplan import Action, Key, Ledger, ObjectChange
from kschedpatch.model.codes import found
from kschedpatch.model.plan import ClusterObject

_HINT = "kschedpatch apply brings it back"


class ObjectsNow(NamedTuple):
    """What an apply would do to the objects that should be there."""

    changes: tuple[ObjectChange, ...] = ()
    problem: str = ""
    """Why nobody could look."""


def touched(before: Ledger, seen: Seen) -> tuple[Wish, ...]:
    """Objects that somebody else has written into. Only of these the API server is asked whether it
    matters: a label of theirs does not."""
    written = {e.ref.key for e in before.entries if seen.is_touched(e.ref.key, e.footprint)}
    return _wishes(before, written)


def as_left(before: Ledger, seen: Seen) -> tuple[ObjectChange, ...]:
    """``seen`` knows what would become of the touched ones; the others are as they were left."""
    wanted = _wishes(before, {entry.ref.key for entry in before.entries})
    changes = decide(wanted, before.patch, before, seen).brought
    written = {wish.ref.key for wish in touched(before, seen)}
    return tuple(
        change._replace(action=Action.UNCHANGED)
        if change.action is Action.CHANGE and change.ref.key not in written
        else change
        for change in changes
    )


def _wishes(before: Ledger, keys: Iterable[Key]) -> tuple[Wish, ...]:
    chosen = set(keys)
    return wishes(
        ClusterObject(entry.body, entry.source)
        for entry in before.entries
        if entry.body is not None and entry.ref.key in chosen
    )


def object_checks(now: ObjectsNow) -> Iterator[Check]:
    subject = "objects"
    if now.problem:
        yield unchecked("", subject, now.problem)
        return
    good = [c.ref.title for c in now.changes if c.action not in (Action.CREATE, Action.CHANGE)]
    if good:
        yield checked("", subject, f"as asked: {len(good)} of {len(now.changes)}")
    for change in now.changes:
        title = change.ref.title
        if change.action is Action.CREATE:
            finding = found("N114", f"{title} is gone from the cluster", hint=_HINT)
            yield checked("", title, "it is gone", [finding])
        elif change.action is Action.CHANGE:
            message = f"{title} is not as the patch asks"
            lines = _lines(change)
            evidence = "it is not as the patch asks"
            yield checked("", title, evidence, [found("N115", message, hint=_HINT)], lines)


def _lines(change: ObjectChange) -> list[str]:
    """From what is there to what should be; never a Secret's content."""
    if change.live is None or change.after is None:
        return []
    live, after = marks.comparable(change.live), marks.comparable(change.after)
    old = emit.document(marks.shown(live)).splitlines()
    new = emit.document(marks.shown(after, live)).splitlines()
    diff = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
    return [line for line in diff if not line.startswith("@@")]
