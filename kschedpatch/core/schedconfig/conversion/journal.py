"""Notes of a conversion: what was changed, what was lost, at which place of the old text."""

from __future__ import annotations

from collections.abc import Callable

from kschedpatch.model.finding import Finding, Path

#: Makes a finding from code, path, message and hint.
Places = Callable[[str, Path, str, str], Finding]


class Journal:
    def __init__(self, at: Places, *, accept: bool) -> None:
        self._at = at
        self._accept = accept
        self.findings: list[Finding] = []

    def changed(self, path: Path, message: str, hint: str = "") -> None:
        self.noted("U001", path, message, hint)

    def lost(self, path: Path, message: str, hint: str = "") -> None:
        """The target can't say it: an error, unless the user accepts that."""
        self.noted("U003" if self._accept else "U002", path, message, hint)

    def noted(self, code: str, path: Path, message: str, hint: str = "") -> None:
        self.findings.append(self._at(code, path, message, hint))
