"""What all parts share: contestants taken in turns, medians, a line through points, tables.

Nothing here judges: a target is printed beside a figure and compared by whoever reads it.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

WIDTH = 100

T = TypeVar("T")


class Settings(NamedTuple):
    full: bool = False
    rounds: int | None = None
    """None: what the part itself finds enough."""
    nodes: tuple[int, ...] = ()
    """Instead of the sizes that a part has."""

    def of(self, quick: int, full: int) -> int:
        """How many rounds, where the command line does not say."""
        return self.rounds or (full if self.full else quick)


class Line(NamedTuple):
    slope: float
    start: float
    """Where it meets x = 0."""


class Stopwatch:
    seconds = 0.0


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    watch = Stopwatch()
    began = time.perf_counter()
    try:
        yield watch
    finally:
        watch.seconds = time.perf_counter() - began


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def interleaved(
    contestants: Mapping[str, Callable[[], T]], rounds: int, what: str = "", *, warm_up: bool = True
) -> dict[str, list[T]]:
    """Each of them once a round: a machine that is busy for a while slows all of them alike.

    A contestant returns its own figure, since what it makes ready and tidies up is not timed. The
    first round is not counted: byte code, page cache, a first login.
    """
    found: dict[str, list[T]] = {name: [] for name in contestants}
    for number in range(0 if warm_up else 1, rounds + 1):
        for name, measure in contestants.items():
            said = f"round {number} of {rounds}" if number else "warming up"
            progress(f"{what}: {said}: {name}")
            figure = measure()
            if number:
                found[name].append(figure)
    return found


def medians(found: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in found.items()}


def line_through(points: Sequence[tuple[float, float]]) -> Line:
    """By least squares."""
    slope, start = statistics.linear_regression(*zip(*points, strict=True))
    return Line(slope, start)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *notes: str) -> str:
    """The first column is for names; figures stand right, and the last column is free text."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    shown = ["", *_wrapped(title, "")]
    for line in lines:
        cells = [
            cell.rjust(width) if 0 < i < len(head) - 1 else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        shown.append(("  " + "  ".join(cells)).rstrip())
    for note in notes:
        shown += _wrapped(note, "  ")
    wide = [line for line in shown if len(line) > WIDTH]
    if wide:
        raise ValueError(f"wider than {WIDTH} columns: {wide[0]}")
    return "\n".join(shown)


def _wrapped(text: str, indent: str) -> list[str]:
    lines = [indent.rstrip(" ")]
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines[-1].strip() else indent + word
        if len(longer) > WIDTH:
            lines.append(indent + word)
        else:
            lines[-1] = longer
    return lines


def times(figure: float, floor: float) -> str:
    return f"{figure / floor:.2f} ×" if floor else "?"
