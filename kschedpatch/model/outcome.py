"""What a command has to say: one value, rendered once, as text or as a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kschedpatch.model import exitcodes
from kschedpatch.model.finding import Finding, has_errors


@dataclass(frozen=True)
class Outcome:
    kind: str
    """Names the document: LintResult, RenderResult, …"""
    findings: tuple[Finding, ...] = ()
    changed: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the document."""

    @property
    def exit_code(self) -> int:
        return exitcodes.INVALID if has_errors(self.findings) else exitcodes.OK
