"""One row a node, redrawn in place: for terminals only."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TextIO

from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kschedpatch.model.events import Event, Listener, State
from kschedpatch.report.progress import told
from kschedpatch.report.terminal import printable

_SIGNS = {
    State.STARTED: ("…", "cyan"),
    State.PROGRESS: ("…", "cyan"),
    State.DONE: ("✓", "green"),
    State.FAILED: ("✗", "red"),
    State.SKIPPED: ("–", "yellow"),
}


class _Row(NamedTuple):
    event: Event
    since: float


class Board:
    """The last event of each node; renders itself whenever it is asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._rows: dict[str, _Row] = {}
        self._lock = threading.Lock()
        self._clock = clock

    def __call__(self, event: Event, /) -> None:
        with self._lock:
            row = self._rows.get(event.node)
            same = row is not None and row.event.phase is event.phase
            since = row.since if row is not None and same else self._clock()
            self._rows[event.node] = _Row(event, since)

    def __rich__(self) -> RenderableType:
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        table.add_column(no_wrap=True, justify="right")
        with self._lock:
            rows = list(self._rows.items())
        for node, row in rows:
            sign, colour = _SIGNS[row.event.state]
            running = row.event.state in {State.STARTED, State.PROGRESS}
            seconds = f"{self._clock() - row.since:.0f} s" if running else ""
            # Text, never markup: a node's words must not be taken for tags.
            table.add_row(
                Text(sign, style=colour),
                Text(printable(node) or "cluster", style="bold"),
                Text(told(row.event)),
                Text(seconds, style="dim"),
            )
        return table


@contextmanager
def live_view(stream: TextIO) -> Iterator[Listener]:
    board = Board()
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    with Live(
        board,
        console=console,
        refresh_per_second=8,
        vertical_overflow="ellipsis",
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield board
