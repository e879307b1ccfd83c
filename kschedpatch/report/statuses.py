"""status and history as tables and as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from kschedpatch.core.fleet.noderules import transaction_told
from kschedpatch.core.fleet.standing import NodeStatus
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.revision import Revision
from kschedpatch.report.tables import table
from kschedpatch.report.terminal import Paint, printable


def status_text(nodes: Sequence[NodeStatus], paint: Paint) -> str:
    if not nodes:
        return ""
    header = ("NODE", "LEADS", "READY", "KUBELET", "PATCH", "STATE", "RUN")
    rows = [
        (
            node.label,
            "yes" if node.leads else "",
            _ready(node),
            node.kubelet or "?",
            node.patch or "-",
            str(node.drift),
            node.run or "-",
        )
        for node in nodes
    ]
    text = table(header, rows, paint, whole={"RUN", "STATE"})
    for node in nodes:
        if node.transaction is not None:
            text += f"{printable(node.label)}: {printable(transaction_told(node.transaction))}\n"
    return text


def _ready(node: NodeStatus) -> str:
    if node.restarts is None:
        return "no pod"
    word = "yes" if node.ready else "no"
    return f"{word} ({node.restarts}×)" if node.restarts else word


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
        "run": node.run or None,
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


def history_text(facts: Sequence[NodeFacts], paint: Paint) -> str:
    runs = by_run(facts)
    if not runs:
        return "No run is kept on these nodes.\n"
    labels = [node.label for node in facts]
    rows = []
    for run, kept in runs:
        first = next(iter(kept.values()))
        rows.append(
            (run, first.kind, first.patch or "-", _outcomes(kept, labels), first.who, first.reason)
        )
    return table(("RUN", "KIND", "PATCH", "OUTCOME", "WHO", "REASON"), rows, paint, whole={"RUN"})


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


def history_data(facts: Sequence[NodeFacts]) -> dict[str, Any]:
    return {
        "runs": [
            {
                "run": run,
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
