"""What a command has to say: one value, rendered once, as text or as a document."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kschedpatch.model import exitcodes
from kschedpatch.model.finding import Finding, has_errors


class Outcome(NamedTuple):
    kind: str
    """Names the document: LintResult, RenderResult, …"""
    findings: tuple[Finding, ...] = ()
    changed: bool = False
    data: Mapping[str, Any] = MappingProxyType({})
    """Further fields of the document."""
    code: int | None = None
    """The exit code, where findings alone do not decide it."""

    @property
    def exit_code(self) -> int:
        if self.code is not None:
            return self.code
        return exitcodes.INVALID if has_errors(self.findings) else exitcodes.OK
