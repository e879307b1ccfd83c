"""Generations: a directory's name is the hash of what is in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from kschedpatch.model.plan import Generation, StagedFile


def make_generation(files: Iterable[StagedFile]) -> Generation | None:
    """The same names, modes and bytes give the same id, on every node and in every run."""
    staged = tuple(sorted(files, key=lambda file: file.name))
    if not staged:
        return None
    digest = hashlib.sha256()
    for item in staged:
        digest.update(f"{item.name}\0{item.mode:04o}\0{item.file.sha256}\n".encode())
    return Generation(digest.hexdigest()[:16], staged)
