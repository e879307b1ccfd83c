"""Ids of runs: the same on all nodes, sorted by time, safe as a file's name."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_RUN = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}", re.ASCII)


def new_run_id(now: float, random: int) -> str:
    """``20261116-204512-3fa9``: UTC, then the milliseconds and six random bits: nodes sort runs by
    their ids, two within one second too."""
    when = datetime.fromtimestamp(now, UTC)
    return f"{when:%Y%m%d-%H%M%S}-{when.microsecond // 1000 << 6 | random & 0x3F:04x}"


def is_run_id(text: str) -> bool:
    """Holds for every id that is ours: nothing else may become part of a path on a node."""
    return _RUN.fullmatch(text) is not None
