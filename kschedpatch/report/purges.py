"""What a purge of nodes takes away, and what it has taken: for people and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kschedpatch.model import exitcodes
from kschedpatch.report.objects import change_lines
from kschedpatch.report.terminal import Paint, printable

if TYPE_CHECKING:
    from kschedpatch.rollout.nodepurge import NodesPurge, NodesPurged


def plan_text(plan: NodesPurge, paint: Paint) -> str:
    groups: dict[tuple[tuple[str, ...], int], list[str]] = {}
    for node in plan.nodes:
        groups.setdefault((node.paths, node.runs), []).append(node.label)
    lines: list[str] = []
    for (paths, runs), labels in groups.items():
        lines.append(paint("bold", printable(", ".join(labels)) + ":"))
        lines += [f"  {printable(path)}" for path in paths]
        if runs:
            lines.append(f"  and with it what is kept of {runs} run{'s' if runs > 1 else ''}:")
            lines.append("  there is no way back to any of them afterwards")
    lines += change_lines(plan.cluster, paint)
    return "".join(f"{line}\n" for line in lines)


def plan_data(plan: NodesPurge) -> dict[str, Any]:
    return {
        "nodes": [{"node": node.label, "paths": list(node.paths)} for node in plan.nodes],
        "objects": [
            {"object": step.ref.title, "action": str(step.action), "why": step.why or None}
            for step in plan.cluster.steps
        ],
    }


def done_text(done: NodesPurged, paint: Paint) -> str:
    lines = []
    for node in done.nodes:
        word = paint("red", "NOT PURGED") if node.problem else paint("green", "purged")
        told = f": {printable(node.problem)}" if node.problem else ""
        lines.append(f"{printable(node.label)}  {word}{told}")
    for item in done.objects:
        why = f": {printable(item.why)}" if item.why else ""
        lines.append(f"{printable(item.title)}: {item.action}{why}")
    lines += _conclusion(done)
    return "".join(f"{line}\n" for line in lines)


def _conclusion(done: NodesPurged) -> Iterator[str]:
    if done.exit_code == exitcodes.REFUSED:
        yield f"Nothing was changed: {printable(done.detail)}"
    elif done.left:
        yield f"Still there: {printable(', '.join(done.left))}. {printable(done.detail)}"
        yield "The nodes keep what they know of them: purge can be run again."
    elif done.exit_code == exitcodes.OK:
        yield "Nothing of kschedpatch is left on these nodes."
    else:
        yield "Run purge again: it goes on with what is left."


def done_data(done: NodesPurged) -> dict[str, Any]:
    return {
        "nodes": [
            {"node": node.label, "removed": list(node.gone), "problem": node.problem or None}
            for node in done.nodes
        ],
        "objects": [
            {"object": item.title, "action": str(item.action), "why": item.why or None}
            for item in done.objects
        ],
        "leftovers": list(done.left),
        "detail": done.detail or None,
    }
