"""The checklist of verify: a block for each node and one for the cluster, and the same as data."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kschedpatch.model.checks import Check, CheckState
from kschedpatch.model.finding import Severity
from kschedpatch.report.tables import cut
from kschedpatch.report.terminal import Paint, printable, width

_COLOURS = {
    CheckState.OK: "green",
    CheckState.FAILED: "red",
    CheckState.WARNING: "yellow",
    CheckState.NOT_CHECKED: "dim",
}
_STATE = max(len(state) for state in CheckState)
_INDENT = " " * (_STATE + 4)
#: Of the lines that differ; the document has more of them.
_LINES = 10


def checklist_text(checks: Sequence[Check], paint: Paint) -> str:
    blocks: dict[str, list[Check]] = {}
    for check in checks:
        blocks.setdefault(check.node, []).append(check)
    of_cluster = blocks.pop("", [])
    text = "".join(_block(node, listed, paint) for node, listed in blocks.items())
    return text + (_block("cluster", of_cluster, paint) if of_cluster else "")


def _block(title: str, checks: Sequence[Check], paint: Paint) -> str:
    lines = [paint("bold", printable(title))]
    for check in checks:
        lines += _check(check, paint)
    return "\n".join(lines) + "\n"


def _check(check: Check, paint: Paint) -> list[str]:
    told = printable(f"{check.subject}: {check.evidence}")
    first, *rest = textwrap.wrap(
        told, width() - len(_INDENT), break_long_words=True, break_on_hyphens=False
    )
    state = paint(_COLOURS[check.state], str(check.state).ljust(_STATE))
    lines = [f"  {state}  {first}", *(f"{_INDENT}{line}" for line in rest)]
    room = width() - len(_INDENT) - 2
    lines += [f"{_INDENT}  {cut(printable(line), room)}" for line in check.lines[:_LINES]]
    more = len(check.lines) - _LINES
    if more > 0:
        lines.append(f"{_INDENT}  … and {more} more lines; -o json has them")
    return lines


def checks_summary(checks: Sequence[Check], paint: Paint) -> str:
    counts = Counter(check.state for check in checks)
    parts = [f"{counts[state]} {state}" for state in CheckState if counts[state]]
    worst = next((s for s in (CheckState.FAILED, CheckState.WARNING) if counts[s]), CheckState.OK)
    return paint(_COLOURS[worst], ", ".join(parts)) + "\n" if parts else ""


def checks_data(checks: Sequence[Check]) -> list[dict[str, Any]]:
    return [
        {
            "node": check.node or None,
            "check": check.subject,
            "state": str(check.state),
            "evidence": check.evidence,
            "lines": list(check.lines),
            "codes": [f.code for f in check.findings if f.severity is not Severity.NOTE],
        }
        for check in checks
    ]
