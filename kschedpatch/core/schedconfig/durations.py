"""Durations as Go writes and reads them (``1m30s``), in whole nanoseconds."""

from __future__ import annotations

import re

_PART = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^.0-9]+)", re.ASCII)
_UNITS = {
    "ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6, "s": 10**9,
    "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
_LIMIT = 2**63


def nanoseconds(text: str) -> int | None:
    """None where it is no duration, or one that does not fit 64 bits (292 years)."""
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in {"-", "+"} else text
    if rest == "0":
        return 0
    total = at = 0
    while at < len(rest):
        match = _PART.match(rest, at)
        part = _part(match) if match is not None else None
        if match is None or part is None:
            return None
        total, at = total + part, match.end()
        if total > _LIMIT:
            return None
    if not rest or (total == _LIMIT and not negative):
        return None
    return -total if negative else total


def written(span: int) -> str:
    """Nanoseconds in the largest unit that needs no fraction; never more than seconds."""
    unit = next(unit for unit in ("s", "ms", "us", "ns") if span % _UNITS[unit] == 0)
    return f"{span // _UNITS[unit]}{unit}"


def _part(match: re.Match[str]) -> int | None:
    whole, point, fraction, unit = match.groups()
    size = _UNITS.get(unit)
    if size is None or not (whole or fraction) or len(whole) > 40:
        return None
    value = int(whole or 0) * size
    if point and fraction:
        digits = fraction[:18]  # Go drops what its 64 bits can't hold
        value += int(int(digits) * (size / 10 ** len(digits)))
    return value if value <= _LIMIT else None
