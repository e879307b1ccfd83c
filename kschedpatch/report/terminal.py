"""Text for terminals: colours where they are wanted, and nothing that could drive the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple, TextIO

from kschedpatch.model.printable import printable as printable  # noqa: PLC0414  offered here too

_CODES = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}


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


class OutputLost(Exception):
    """The result could not be written where it should go (a full disk, mostly)."""


def write(stream: TextIO, text: str) -> None:
    """Writes a result, all of it. (A reader that went away is the entry point's business.)"""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        # What is still buffered must not fail again when the interpreter closes the stream.
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        raise OutputLost(error.strerror or str(error)) from None


def complain(text: str) -> None:
    """To stderr; where that is gone too, nobody is left to be told."""
    with suppress(OutputLost):
        write(sys.stderr, text if text.endswith("\n") else text + "\n")
