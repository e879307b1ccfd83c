"""How checks are made: the state follows from the findings."""

from __future__ import annotations

from collections.abc import Iterable

from kschedpatch.model.checks import Check, CheckState
from kschedpatch.model.finding import Finding, Severity, has_errors

#: Of lines that differ, and of anything else without end.
MAX_LINES = 40
_EVIDENCE = 400


def checked(
    node: str,
    subject: str,
    evidence: str,
    findings: Iterable[Finding] = (),
    lines: Iterable[str] = (),
) -> Check:
    """ok, unless a finding is an error or a warning."""
    found = tuple(findings)
    state = CheckState.OK
    if has_errors(found):
        state = CheckState.FAILED
    elif any(finding.severity is Severity.WARNING for finding in found):
        state = CheckState.WARNING
    return Check(node, subject, state, shortened(evidence), bounded(lines), found)


def unchecked(node: str, subject: str, why: str, findings: Iterable[Finding] = ()) -> Check:
    return Check(node, subject, CheckState.NOT_CHECKED, shortened(why), (), tuple(findings))


def bounded(lines: Iterable[str]) -> tuple[str, ...]:
    all_lines = [line[:_EVIDENCE] for line in lines]
    rest = len(all_lines) - MAX_LINES
    more = (f"… and {rest} more lines",) if rest > 0 else ()
    return (*all_lines[:MAX_LINES], *more)


def shortened(text: str, size: int = _EVIDENCE) -> str:
    text = " ".join(text.split())
    return text if len(text) <= size else text[: size - 1] + "…"


def several(words: Iterable[str], most: int = 4) -> str:
    """``a, b, c and 7 more``."""
    every = list(words)
    rest = len(every) - most
    return ", ".join(every[:most]) + (f" and {rest} more" if rest > 0 else "")
