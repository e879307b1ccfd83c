"""Reads local files, within bounds: only regular ones, never more than is allowed."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path
from typing import NamedTuple

from kschedpatch.core.yamltext.places import STANDARD_INPUT
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.sources import SourceFile

MAX_TEXT = 1024 * 1024
#: A static kube-scheduler has 70 MiB, an image not much more; the bound stops sparse monsters.
MAX_BLOB = 4 * 1024 * 1024 * 1024
_CHUNK = 1024 * 1024


class Unreadable(Exception):
    """Why a file can't be read, in words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def finding(self, name: str) -> Finding:
        return found("P006", self.reason, file=name)


def _open(path: Path) -> int:
    """A descriptor of a regular file. A FIFO or device would block or never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Unreadable("there is no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unreadable(f"it can't be opened: {reason}") from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
        raise Unreadable(f"it is {what}")
    return descriptor


def read_bytes(path: Path, limit: int = MAX_TEXT) -> bytes:
    with os.fdopen(_open(path), "rb") as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise Unreadable(f"it is larger than {limit} bytes")
    return data


class NamedText(NamedTuple):
    """A file as the user named it, with the directory that its relative paths start at."""

    name: str
    data: bytes
    directory: Path


def read_named(name: str) -> NamedText:
    """A file that was named on the command line; ``-`` is standard input."""
    if not name:
        raise Unreadable("the name is empty")
    if name != "-":
        path = Path(name)
        return NamedText(name, read_bytes(path), path.parent)
    if sys.stdin is None:
        raise Unreadable("standard input is closed")
    data = sys.stdin.buffer.read(MAX_TEXT + 1)
    if len(data) > MAX_TEXT:
        raise Unreadable(f"it is larger than {MAX_TEXT} bytes")
    return NamedText(STANDARD_INPUT, data, Path())


def is_directory(path: Path) -> bool:
    """Also for names that the system finds too long to ask about."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def hash_file(name: str, path: Path, limit: int = MAX_BLOB) -> SourceFile:
    """A large file by its hash; its bytes stay where they are."""
    digest, size = hashlib.sha256(), 0
    with os.fdopen(_open(path), "rb") as stream:
        if os.fstat(stream.fileno()).st_size > limit:
            raise Unreadable(f"it is larger than {limit >> 20} MiB")
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    if not size:
        raise Unreadable("it is empty")
    return SourceFile(name, str(path), digest.hexdigest(), size)


def ensure_readable(path: Path) -> None:
    """Raises what reading it would raise, without reading it."""
    os.close(_open(path))
