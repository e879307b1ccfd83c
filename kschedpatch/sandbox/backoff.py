"""The kubelet's back-off of container restarts (client-go's flowcontrol.Backoff), by pod UID.

An exited container that is still recorded makes the next start of the same UID a restart, also
after the pod was away for a while: the same bytes again and again wait longer and longer. With
the records removed there is nothing to restart and no wait.
"""

from __future__ import annotations

from typing import NamedTuple

_FIRST = 10.0
_LONGEST = 300.0


class _Entry(NamedTuple):
    delay: float
    updated: float


class Backoff:
    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def wait(self, uid: str, finished: float, now: float) -> float:
        """Seconds to wait before this restart; it is counted once they have passed."""
        entry = self._entries.get(uid)
        if entry is None or finished - entry.updated > 2 * _LONGEST:
            self._entries[uid] = _Entry(_FIRST, now)
            return 0.0
        remaining = entry.delay - (now - finished)
        if remaining > 0:
            return remaining
        self._entries[uid] = _Entry(min(_LONGEST, entry.delay * 2), now)
        return 0.0

    def delay(self, uid: str) -> float:
        entry = self._entries.get(uid)
        return entry.delay if entry else 0.0
