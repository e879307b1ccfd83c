"""Tables of plain text: columns as wide as they need, rows never wider than the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from kschedpatch.report.terminal import Paint, printable, width


def table(header: Sequence[str], rows: Sequence[Sequence[str]], paint: Paint) -> str:
    """The last column gets what room is left; what does not fit is cut with an ellipsis."""
    cells = [[printable(cell) for cell in row] for row in rows]
    wide = [max(len(row[at]) for row in (header, *cells)) for at in range(len(header))]
    shrink(wide, width() - 2 * (len(wide) - 1))
    lines = [_line(header, wide)]
    lines += [_line(row, wide) for row in cells]
    return "".join(f"{text}\n" for text in (paint("bold", lines[0]), *lines[1:]))


def shrink(wide: list[int], room: int) -> None:
    """Takes from the widest columns first, and never more than half of a column that is short."""
    while sum(wide) > room and max(wide) > 8:
        wide[wide.index(max(wide))] -= 1


def _line(row: Sequence[str], wide: Sequence[int]) -> str:
    parts = [cut(cell, size).ljust(size) for cell, size in zip(row, wide, strict=True)]
    return "  ".join(parts).rstrip()


def cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: max(size - 1, 0)] + "…"
