"""A check: what was looked at, how it stands, and by what that is known."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kschedpatch.model.finding import Finding


class CheckState(StrEnum):
    OK = "ok"
    FAILED = "failed"
    WARNING = "warning"
    NOT_CHECKED = "not checked"


class Check(NamedTuple):
    node: str
    """The label of the node; empty for what concerns the cluster."""
    subject: str
    state: CheckState
    evidence: str
    lines: tuple[str, ...] = ()
    """What differs, line by line, where lines differ; bounded."""
    findings: tuple[Finding, ...] = ()


class Verdict(NamedTuple):
    checks: tuple[Check, ...]
    findings: tuple[Finding, ...]
    """What the checks found, the same on several nodes told once."""
