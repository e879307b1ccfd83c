"""What becomes of objects of the cluster: diffs for people, and data. Never a Secret's content."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from kschedpatch.core.objects.marks import comparable, shown
from kschedpatch.core.yamltext import emit
from kschedpatch.model.clusterplan import Action, ClusterPlan, Object, ObjectChange
from kschedpatch.report.plans import coloured
from kschedpatch.report.terminal import Paint, printable

WORDS = {
    Action.CREATE: "create",
    Action.CHANGE: "change",
    Action.UNCHANGED: "unchanged",
    Action.DELETE: "take away",
    Action.RESTORE: "put back as it was",
    Action.STAYS: "stays",
    Action.LEFT: "left as it is",
}


def change_lines(plan: ClusterPlan, paint: Paint) -> Iterator[str]:
    if plan.steps:
        yield ""
    for change in plan.steps:
        source = f" (from {printable(change.source)})" if change.source else ""
        why = f": {printable(change.why)}" if change.why else ""
        title = f"object: {printable(change.ref.title)}: {WORDS[change.action]}{why}{source}"
        yield paint("bold", title)
        yield from _diff(change, paint)


def _diff(change: ObjectChange, paint: Paint) -> Iterator[str]:
    return (coloured(line, paint) for line in difference_of(change))


def difference_of(change: ObjectChange) -> list[str]:
    """Lines of a diff, as they are; none where nothing is written."""
    if change.action is Action.CREATE and change.body is not None:
        return ["+" + line for line in emit.document(shown(change.body)).splitlines()]
    after = change.after if change.action is Action.CHANGE else change.body
    if change.action not in (Action.CHANGE, Action.RESTORE) or after is None:
        return []
    return _difference(change.live, after)


def _difference(live: Object | None, after: Object) -> list[str]:
    before = shown(comparable(live)) if live is not None else {}
    wanted = shown(comparable(after), comparable(live) if live is not None else None)
    old = emit.document(before).splitlines() if before else []
    new = emit.document(wanted).splitlines()
    return list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]


def changes_data(plan: ClusterPlan) -> list[dict[str, Any]]:
    return [
        {
            "object": change.ref.title,
            "apiVersion": change.ref.api_version,
            "kind": change.ref.kind,
            "namespace": change.ref.namespace or None,
            "name": change.ref.name,
            "action": str(change.action),
            "source": change.source or None,
            "why": change.why or None,
        }
        for change in plan.steps
    ]
