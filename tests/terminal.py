"""A terminal of a given size for a command, and what stands on its screen: for tests of what people
see, and for pictures of it."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import TracebackType

import pyte
from rich.style import Style
from rich.text import Text


class Terminal:
    """Runs the command in it. What scrolls out at the top is kept."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int = 80,
        lines: int = 24,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, lines, history=5000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._ours, theirs = os.openpty()
        self._size(columns, lines)
        own = {**os.environ, **(environment or {}), "TERM": "xterm-256color"}
        # They would say another size than the terminal's own.
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            own.pop(name, None)
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=own,
            start_new_session=True,
            # Its own terminal, so that Ctrl-C reaches it; the tests have no other threads here.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._ours)

    def _size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns: int, lines: int) -> None:
        """As when somebody pulls at the window's corner: the kernel tells the command."""
        self._size(columns, lines)
        self.screen.resize(lines, columns)

    def type(self, text: str) -> None:
        """Ctrl-C is ``\\x03``, which the terminal makes a signal of."""
        os.write(self._ours, text.encode())

    def wait_for(self, seen: Callable[[Terminal], object], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not seen(self):
            assert time.monotonic() < end, "\n".join(self.everything())
            assert self._take(0.1) or self.process.poll() is None, "\n".join(self.everything())

    def wait(self, seconds: float = 120) -> int:
        """Until it has ended: its exit code."""
        end = time.monotonic() + seconds
        while self._take(0.1) or self.process.poll() is None:
            assert time.monotonic() < end, "\n".join(self.everything())
        return self.process.wait()

    def _take(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # the last process that had it is gone
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)

    @property
    def cursor_is_shown(self) -> bool:
        return not self.screen.cursor.hidden

    def lines(self) -> list[str]:
        """What stands on the screen now."""
        return [line.rstrip() for line in self.screen.display]

    def everything(self) -> list[str]:
        return [text.plain.rstrip() for text in self.texts()]

    def texts(self) -> list[Text]:
        """All lines with their colours, also those that have scrolled out; no empty ones behind."""
        width = self.screen.columns
        rows = [
            *self.screen.history.top,
            *(self.screen.buffer[n] for n in range(self.screen.lines)),
        ]
        found = [_text([row[column] for column in range(width)]) for row in rows]
        while found and not found[-1].plain.strip():
            del found[-1]
        return found


def _text(row: Sequence[pyte.screens.Char]) -> Text:
    line = Text(no_wrap=True)
    # Neighbours of one look are one piece: a picture has fewer pieces then.
    for style, chars in groupby(row, key=_style):
        line.append("".join(char.data for char in chars), style)
    return line


def _style(char: pyte.screens.Char) -> Style:
    colour = None if char.fg == "default" else char.fg.replace("brown", "yellow")
    return Style(color=colour, bold=char.bold, italic=char.italics)
