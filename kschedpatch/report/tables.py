"""Tables of plain text: columns as wide as they need, rows never wider than the terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kschedpatch.report.terminal import Paint, printable, width

_NARROW = 5


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    paint: Paint,
    *,
    whole: Collection[str] = (),
) -> str:
    """What does not fit is cut with an ellipsis, in the widest columns first; never in those that
    people copy from (``whole``, by their header)."""
    cells = [[printable(cell) for cell in row] for row in rows]
    wide = [max(len(row[at]) for row in (header, *cells)) for at in range(len(header))]
    _shrink(wide, [at for at, name in enumerate(header) if name not in whole])
    lines = [_line(header, wide)]
    lines += [_line(row, wide) for row in cells]
    return "".join(f"{text}\n" for text in (paint("bold", lines[0]), *lines[1:]))


def _shrink(wide: list[int], columns: list[int]) -> None:
    room = width() - 2 * (len(wide) - 1)
    while sum(wide) > room:
        widest = max(columns, key=lambda at: wide[at])
        if wide[widest] <= _NARROW:
            return  # a terminal too narrow for any of this
        wide[widest] -= 1


def _line(row: Sequence[str], wide: Sequence[int]) -> str:
    parts = [cut(cell, size).ljust(size) for cell, size in zip(row, wide, strict=True)]
    return "  ".join(parts).rstrip()


def cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: max(size - 1, 0)] + "…"
