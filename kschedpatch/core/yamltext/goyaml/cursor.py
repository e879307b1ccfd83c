"""Where a reading of a text is: places, tokens, and what stops it there."""

from __future__ import annotations

import re
from typing import NamedTuple

#: NULs stand behind a text: no text that Go reads holds one.
END = "\0"
BREAKS = "\r\n\x85\u2028\u2029"
BLANKZ = frozenset(" \t" + END + BREAKS)
_STOP = re.compile(f"[{END}{BREAKS}]")


class Mark(NamedTuple):
    offset: int
    line: int
    """0-based, as is the column. CR, NEL, LS and PS end a line too, as they do for Go."""
    column: int


class Refused(Exception):
    """Go's reader takes no more of the text; ``code`` is that of the finding."""

    def __init__(self, code: str, message: str, mark: Mark, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.mark = mark
        self.hint = hint


def mark_at(text: str, index: int) -> Mark:
    start = text.rfind("\n", 0, index) + 1
    return Mark(index, text.count("\n", 0, index), index - start)


class Token(NamedTuple):
    kind: str
    """The indicator itself (``-``, ``?``, ``:``, ``[``, …, ``&``, ``*``, ``!``), or a word."""
    start: Mark
    end: Mark
    value: str = ""
    more: str = ""
    """A scalar's style, a tag's suffix, what a %TAG handle stands for."""


class Cursor:
    """Where the reading is. The text ends in NULs, which no text holds."""

    __slots__ = ("index", "line", "start", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.index = 0
        self.line = 0
        self.start = 0

    @property
    def char(self) -> str:
        return self.text[self.index]

    @property
    def column(self) -> int:
        return self.index - self.start

    def mark(self) -> Mark:
        return Mark(self.index, self.line, self.index - self.start)

    def skip(self, count: int = 1) -> None:
        self.index += count

    def take(self, pattern: re.Pattern[str]) -> str:
        match = self.taken(pattern)
        return match[0] if match else ""

    def taken(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.index)
        if match is not None:
            self.index = match.end()
        return match

    def skip_to_break(self) -> None:
        stop = _STOP.search(self.text, self.index)
        self.index = stop.start() if stop else len(self.text)

    def skip_break(self) -> str:
        """Behind a line break, and what it is in a value: Unicode's own two stay themselves."""
        char = self.text[self.index]
        self.index += 2 if self.text.startswith("\r\n", self.index) else 1
        self.line += 1
        self.start = self.index
        return char if char in "\u2028\u2029" else "\n"

    def end_line(self) -> None:
        """The end of the text ends its last line."""
        if self.index > self.start:
            self.line += 1
            self.start = self.index

    def is_document_mark(self) -> bool:
        return (
            self.text.startswith(("---", "..."), self.index) and self.text[self.index + 3] in BLANKZ
        )
