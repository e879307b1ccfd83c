"""The board of a run, redrawn in place: for terminals only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from kschedpatch.model.events import Listener, State
from kschedpatch.report.board import Board, Cell, Row, Stage, chosen, folded, stages_in
from kschedpatch.report.progress import told
from kschedpatch.report.terminal import printable

_SIGNS = {
    State.STARTED: ("…", "cyan"),
    State.PROGRESS: ("…", "cyan"),
    State.DONE: ("✓", "green"),
    State.FAILED: ("✗", "red"),
    State.SKIPPED: ("–", "yellow"),
}
_BAR = 20
_LONGEST_NAME = 20
#: Lines on what is being waited for; with more nodes at once they would fill the screen.
_MOST_LINES = 5


class View:
    """Draws a board. Text, never markup: a node's words must not be taken for tags."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = self._board.rows()
        if not rows:
            return
        width, height = options.max_width, console.size.height
        speaking = _speaking(rows)[: max(1, min(_MOST_LINES, (height - 3) // 2))]
        # Beside those: the header, and the line of the cursor.
        grid = chosen(rows, max(height - len(speaking) - 2, 2))
        lines = [*_grid(grid.shown, width), *map(_words, speaking)]
        if grid.hidden:
            lines.append(Text(folded(grid.hidden), style="dim"))
        for line in lines:
            # Ctrl-C shows as ^C behind the last line: where that went on in the next one, the
            # terminal would be a line lower than the next drawing thinks.
            line.truncate(width - len("^C") if line is lines[-1] else width, overflow="ellipsis")
            yield line


def _grid(rows: Sequence[Row], width: int) -> Iterator[Text]:
    names = [_name(row) for row in rows]
    wide = min(max(len(name) for name in names), _LONGEST_NAME)
    stages = stages_in(rows, width - wide - 2, _column)
    header = Text(" " * (wide + 2))
    for stage in stages:
        header.append(stage.value.rjust(_column(stage)), style="dim")
    yield header
    for row, name in zip(rows, names, strict=True):
        sign, colour = _SIGNS[State.FAILED if row.has_failed else row.last.state]
        line = Text().append(f"{sign} ", style=colour)
        line.append(f"{name[:wide]:<{wide}}", style="bold")
        for stage in stages:
            cell = row.cells.get(stage)
            text, colour = _shown(cell) if cell else ("", "")
            line.append(text.rjust(_column(stage)), style=colour)
        yield line


def _column(stage: Stage) -> int:
    # Room for « 99.9 s» and for minutes; a blank parts it from its neighbour.
    return max(len(stage.value), 6) + 1


def _shown(cell: Cell) -> tuple[str, str]:
    sign, colour = _SIGNS[cell.state]
    if cell.state is State.SKIPPED:
        return sign, colour
    is_over = cell.state is State.DONE
    return f"{'' if is_over else sign}{_time(cell.seconds)}", "" if is_over else colour


def _time(seconds: float) -> str:
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    if seconds < 100:
        return f"{seconds:.0f}s"
    return f"{seconds / 60:.0f}m" if seconds < 6000 else f"{seconds / 3600:.0f}h"


def _speaking(rows: Sequence[Row]) -> list[Row]:
    """Who is at work or has failed; between two steps, whoever has come farthest."""
    found = [row for row in rows if row.is_running or row.has_failed]
    return found or [max(rows, key=lambda row: len(row.cells))]


def _words(row: Row) -> Text:
    """What it is at, or what it said last."""
    line = Text(no_wrap=True).append(f"{_name(row)}: ", style="bold")
    return line.append(bar(row.last.fraction) + told(row.last))


def _name(row: Row) -> str:
    return printable(row.node) or "cluster"


def bar(fraction: float | None) -> str:
    """Before the words: they may be cut off at the end of the line."""
    if fraction is None:
        return ""
    full = int(min(max(fraction, 0.0), 1.0) * _BAR)
    return f"{'━' * full}{'─' * (_BAR - full)} {full * 100 // _BAR:3d} % "


@contextmanager
def live_view(stream: TextIO) -> Iterator[Listener]:
    board = Board()
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    with Live(
        View(board),
        console=console,
        refresh_per_second=8,
        vertical_overflow="ellipsis",
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield board
