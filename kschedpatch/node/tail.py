"""The last bytes of a stream that nobody bounds."""

from __future__ import annotations

import threading

KEPT = 64 * 1024


class Tail:
    """One thread writes, others look."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._bytes = bytearray()
        self._lock = threading.Lock()

    def add(self, data: bytes) -> None:
        with self._lock:
            self._bytes += data
            if len(self._bytes) > self._kept:
                del self._bytes[: -self._kept]

    def value(self) -> bytes:
        with self._lock:
            return bytes(self._bytes)
