"""Local files that a patch names, as values. Reading them is the business of ``inputs``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple


class SourceFile(NamedTuple):
    """``content`` is None for what is too large to hold (a binary, an archive): it is streamed
    from ``location`` when it is needed, and must then still have this hash."""

    name: str
    location: str
    sha256: str
    size: int
    content: bytes | None = None
    architecture: str = ""
    """Of a program, as Go names it: for which processor it is made."""


def source_file(name: str, location: str, content: bytes) -> SourceFile:
    digest = hashlib.sha256(content).hexdigest()
    return SourceFile(name, location, digest, len(content), content)


#: Path as the patch writes it → the file.
Sources = Mapping[str, SourceFile]
