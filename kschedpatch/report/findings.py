"""Findings as lines for people."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from kschedpatch.model.finding import Finding, Severity
from kschedpatch.report.program import as_typed
from kschedpatch.report.terminal import Paint, printable, width

MAX_SHOWN = 50
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def finding_lines(findings: Sequence[Finding], paint: Paint) -> str:
    """``FILE:LINE:COLUMN: severity CODE message``, as editors and grep like it."""
    shown = "".join(_finding(finding, paint) for finding in findings[:MAX_SHOWN])
    rest = len(findings) - MAX_SHOWN
    return shown + (f"… and {rest} more; -o json shows them all\n" if rest > 0 else "")


def _finding(finding: Finding, paint: Paint) -> str:
    place = printable(finding.file)
    if finding.line:
        place += f":{finding.line}:{finding.column}" if finding.column else f":{finding.line}"
    label = paint(_COLOURS[finding.severity], f"{finding.severity} {finding.code}")
    lines = [f"{place}: {label}" if place else label]
    path = f"{printable(finding.path)}: " if finding.path else ""
    lines += _wrapped(path + printable(finding.message))
    if finding.hint:
        lines += _wrapped("→ " + printable(finding.hint))
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> list[str]:
    # Long paths stay whole: a wrapped path can't be copied.
    return textwrap.wrap(
        as_typed(" ".join(text.split("\n"))),
        width(),
        initial_indent="    ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def summary(findings: Sequence[Finding], paint: Paint) -> str:
    counts = Counter(finding.severity for finding in findings)
    if not counts:
        return paint("green", "ok: nothing found") + "\n"
    parts = [
        f"{counts[severity]} {severity}{'s' if counts[severity] != 1 else ''}"
        for severity in Severity
        if counts[severity]
    ]
    text = ", ".join(parts)
    colour = _COLOURS[next(severity for severity in Severity if counts[severity])]
    return paint(colour, text) + "\n"
