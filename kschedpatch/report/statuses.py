"""status and history as tables and as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kschedpatch.core.fleet.comparing import Compared
from kschedpatch.core.fleet.noderules import transaction_told
from kschedpatch.core.fleet.retelling import RunChange
from kschedpatch.core.fleet.standing import DIFFERS, Drift, NodeStatus
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.revision import Revision
from kschedpatch.report.plans import folded_diffs
from kschedpatch.report.tables import cut, table
from kschedpatch.report.terminal import Paint, printable, width


def status_text(nodes: Sequence[NodeStatus], paint: Paint) -> str:
    if not nodes:
        return ""
    header = ("NODE", "VERSION", "LEADS", "READY", "PATCH", "DRIFT", "RUN", "AGE")
    rows = [_row(node) for node in nodes]
    text = table(header, rows, paint, whole={"VERSION", "LEADS", "DRIFT", "RUN", "AGE"})
    for node in nodes:
        if node.transaction is not None:
            text += f"{printable(node.label)}: {printable(transaction_told(node.transaction))}\n"
    return text


def _row(node: NodeStatus) -> tuple[str, ...]:
    if node.drift is Drift.NOT_REACHED:
        return (node.label, "?", "", "?", "?", str(node.drift), "-", "")
    return (
        node.label,
        node.kubelet or "?",
        "yes" if node.leads else "",
        _ready(node),
        node.patch or "-",
        _drift(node),
        node.run or "-",
        age_told(node.age) if node.age is not None else "",
    )


def _drift(node: NodeStatus) -> str:
    """In sixteen columns; the open run is told in full below the table."""
    open_one = node.transaction
    if open_one is not None:
        if not open_one.dead_man:
            return "open, unguarded"
        left = open_one.deadline_in
        return f"open, {left}s left" if left > 0 else "open, restoring"
    return "other revision" if node.drift_told == DIFFERS else node.drift_told


def _ready(node: NodeStatus) -> str:
    if node.restarts is None:
        return "no pod"
    word = "yes" if node.ready else "no"
    return f"{word} ({node.restarts}×)" if node.restarts else word


def age_told(seconds: int) -> str:
    """At most three columns: ``42s``, ``17m``, ``5h``, ``12d``, ``31w``, ``3y``."""
    for unit, size in (("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800)):
        if seconds < 100 * size:
            return f"{seconds // size}{unit}"
    return f"{min(seconds // 31_557_600, 99)}y"


def status_data(nodes: Sequence[NodeStatus]) -> dict[str, Any]:
    return {"nodes": [_node(node) for node in nodes]}


def _node(node: NodeStatus) -> dict[str, Any]:
    open_one = node.transaction
    return {
        "node": node.label,
        "name": node.node_name,
        "leads": node.leads,
        "ready": node.ready,
        "restarts": node.restarts,
        "kubelet": node.kubelet or None,
        "image": node.image,
        "patch": node.patch or None,
        "state": str(node.drift),
        "drift": node.drift_told,
        "run": node.run or None,
        "since": _time(node.since) if node.since is not None else None,
        "ageSeconds": node.age,
        "generationProblem": node.generation_problem or None,
        "transaction": None
        if open_one is None
        else {
            "run": open_one.run,
            "kind": open_one.kind,
            "who": open_one.who,
            "since": open_one.since,
            "state": open_one.state,
            "deadlineIn": open_one.deadline_in,
            "deadMan": open_one.dead_man,
        },
    }


def by_run(facts: Iterable[NodeFacts]) -> list[tuple[str, dict[str, Revision]]]:
    """Every run that a node keeps, newest first: what each node keeps of it, by label."""
    runs: dict[str, dict[str, Revision]] = {}
    for node in facts:
        for revision in node.revisions:
            if revision.kind:
                runs.setdefault(revision.run, {})[node.label] = revision
    return sorted(runs.items(), reverse=True)


def history_text(facts: Sequence[NodeFacts], changes: Mapping[str, RunChange], paint: Paint) -> str:
    """A row for each run, and below it what it changed and why: side by side they would be cut."""
    runs = by_run(facts)
    if not runs:
        return "No run is kept on these nodes.\n"
    labels = [node.label for node in facts]
    clocks = {node.label: node.clock for node in facts}
    rows, below = [], []
    for run, kept in runs:
        label, first = next(iter(kept.items()))
        age = age_told(max(0, clocks[label] - first.when)) if clocks[label] and first.when else ""
        outcome = _outcomes(kept, labels)
        rows.append((run, age, first.kind, first.patch or "-", outcome, first.who))
        told = f"{changes[run].told} changed" if run in changes else ""
        below.append("; ".join(part for part in (told, first.reason) if part))
    head = ("RUN", "AGE", "KIND", "PATCH", "OUTCOME", "WHO")
    header, *lines = table(head, rows, paint, whole={"RUN", "AGE", "KIND"}).splitlines()
    text = f"{header}\n"
    for line, more in zip(lines, below, strict=True):
        text += f"{line}\n"
        text += f"    {cut(printable(more), width() - 4)}\n" if more else ""
    return text


def comparison_text(moments: tuple[str, str], found: Sequence[Compared], paint: Paint) -> str:
    """What differs between two moments, for each node."""
    same = printable(f"{moments[0]} and {moments[1]} are the same")
    lines = folded_diffs(((one.label, one.lines) for one in found), same, paint)
    return "".join(line + "\n" for line in lines)


def comparison_data(moments: tuple[str, str], found: Sequence[Compared]) -> dict[str, Any]:
    return {
        "from": moments[0],
        "to": moments[1],
        "nodes": [{"node": one.label, "diff": list(one.lines)} for one in found],
    }


def _outcomes(kept: dict[str, Revision], labels: Sequence[str]) -> str:
    """One word where all nodes say the same; a node that keeps nothing of the run took no part."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        if label in kept:
            groups.setdefault(kept[label].outcome, []).append(label)
    if len(groups) == 1 and len(kept) == len(labels):
        return next(iter(groups))
    return ", ".join(f"{word} on {' '.join(nodes)}" for word, nodes in groups.items())


def _time(seconds: int) -> str | None:
    """A node's clock may say anything."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def history_data(facts: Sequence[NodeFacts], changes: Mapping[str, RunChange]) -> dict[str, Any]:
    return {
        "runs": [
            {
                "run": run,
                "changes": _change(changes.get(run)),
                "nodes": [
                    {
                        "node": label,
                        "kind": revision.kind,
                        "when": _time(revision.when),
                        "who": revision.who,
                        "reason": revision.reason,
                        "patch": revision.patch or None,
                        "outcome": revision.outcome,
                        "beforeSha256": revision.before,
                        "afterSha256": revision.after,
                        "generation": revision.generation or None,
                    }
                    for label, revision in kept.items()
                ],
            }
            for run, kept in by_run(facts)
        ]
    }


def _change(change: RunChange | None) -> dict[str, Any] | None:
    """None: no node keeps what the run has changed."""
    if change is None:
        return None
    return {
        "linesAdded": change.added,
        "linesRemoved": change.removed,
        "files": list(change.files),
        "objects": list(change.objects),
    }
