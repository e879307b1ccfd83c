"""Text for terminals: colours where they are wanted, and nothing that could drive the terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from typing import NamedTuple, TextIO

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_CODES = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}


def printable(text: str) -> str:
    """What a file or a node sent, with escapes instead of control characters."""

    def escaped(match: re.Match[str]) -> str:
        code = ord(match[0])
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

    safe = _UNSAFE.sub(escaped, text)
    # Half of a surrogate pair can't be encoded at all.
    return safe.encode("utf-8", "backslashreplace").decode("utf-8")


class Paint(NamedTuple):
    """Colours, or none."""

    enabled: bool

    def __call__(self, colour: str, text: str) -> str:
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.enabled and text else text


def paint_for(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Paint:
    dumb = environment.get("TERM") == "dumb"
    return Paint(stream.isatty() and not environment.get("NO_COLOR") and not dumb)


def width() -> int:
    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 120))


def write(stream: TextIO, text: str) -> None:
    """Writes a result. A reader that went away (``| head``) is no error of ours: the exit code
    still tells how it went."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def complain(text: str) -> None:
    write(sys.stderr, text if text.endswith("\n") else text + "\n")
