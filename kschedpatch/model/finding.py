"""A finding: one thing that is wrong, or worth knowing, at one place."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


#: A place in a document: mapping keys and list indexes from the top.
Path = tuple[str | int, ...]


def format_path(path: Path) -> str:
    """``("spec", "containers", 0, "image")`` as people write it: ``spec.containers[0].image``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step and all(c.isalnum() or c in "_-*" for c in step):
            text += f".{step}" if text else step
        else:
            # Annotation keys hold dots and slashes: quoted, so that the path can be read back.
            text += "[" + '"' + step + '"' + "]"
    return text


class Finding(NamedTuple):
    """``code`` is stable: people grep for it and the reference page lists it."""

    code: str
    severity: Severity
    message: str
    file: str = ""
    line: int = 0
    """1-based; 0 where there is no line (a finding about a file as a whole)."""
    column: int = 0
    path: str = ""
    hint: str = ""

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR

    def in_file(self, file: str) -> Finding:
        return self if self.file else self._replace(file=file)


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(finding.is_error for finding in findings)


_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def in_reading_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then by place; each finding once."""
    unique = dict.fromkeys(findings)
    return tuple(
        sorted(unique, key=lambda f: (_RANK[f.severity], f.file, f.line, f.column, f.code))
    )
