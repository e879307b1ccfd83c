"""Verdicts that a scheduler has given before: a run with the same seed asks only lint anew."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

from .verdicts import Verdict


class Remembered:
    """Beside a scheduler's binary, whose directory is named after all that decides its content."""

    def __init__(self, binary: Path) -> None:
        # Several workers write at a time, and losing the newest in a crash costs nothing.
        self._store = sqlite3.connect(
            binary.with_suffix(".verdicts"), timeout=60, isolation_level=None
        )
        self._store.execute("pragma journal_mode=wal")
        self._store.execute("pragma synchronous=off")
        self._store.execute("create table if not exists verdicts (key text primary key, said text)")

    def __call__(
        self, kind: str, data: bytes, flags: tuple[tuple[str, str], ...], ask: Callable[[], Verdict]
    ) -> Verdict:
        key = hashlib.sha256(data + json.dumps([kind, flags]).encode()).hexdigest()
        found = self._store.execute("select said from verdicts where key = ?", (key,)).fetchone()
        if found is not None:
            return Verdict(not found[0], found[0])
        verdict = ask()
        self._store.execute("insert or ignore into verdicts values (?, ?)", (key, verdict.text))
        return verdict
