"""What is sent to a node besides the script: bytes, or a local file that is streamed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from kschedpatch.node.errors import PayloadChanged

_CHUNK = 256 * 1024


class Payload(NamedTuple):
    size: int
    content: bytes | Path
    sha256: str | None = None
    """Of a file: what was planned. It is checked while the file is read."""
    on_progress: Callable[[int, int], None] | None = None
    """Called with the bytes sent so far and the size, from the thread that sends."""
    offset: int = 0
    """Of a file: the node has all before it already. Only the rest is sent; the hash is of all."""
    to_the_end: bool = False
    """The last that is sent over its channel: the node reads until that ends, in large pieces."""


def bytes_payload(data: bytes) -> Payload:
    return Payload(len(data), data)


def file_payload(
    path: Path,
    size: int,
    sha256: str,
    on_progress: Callable[[int, int], None] | None = None,
    *,
    offset: int = 0,
    to_the_end: bool = False,
) -> Payload:
    return Payload(size, path, sha256, on_progress, offset, to_the_end)


def frame(payload: Payload) -> Iterator[bytes]:
    """The payload as it goes over the wire: its length on a line, exactly that many bytes, and a
    line break, by which the node knows that all of them were there.

    The last chunk of a file is held back until the hash is right: what the node gets of a file that
    changed is short, and never taken for the whole.
    """
    yield b"%d\n" % (payload.size - payload.offset)
    if isinstance(payload.content, bytes):
        yield from _slices(payload.content)
    else:
        yield from _file(payload, payload.content)
    if not payload.to_the_end:
        yield b"\n"


def _file(payload: Payload, path: Path) -> Iterator[bytes]:
    digest, read, sent, held = hashlib.sha256(), 0, payload.offset, b""
    for whole in _file_chunks(path, payload.size):
        digest.update(whole)
        chunk = whole[max(0, payload.offset - read) :]
        read += len(whole)
        if not chunk:
            continue
        if held:
            yield held
            sent += len(held)
            if payload.on_progress is not None:
                payload.on_progress(sent, payload.size)
        held = chunk
    if payload.sha256 is not None and digest.hexdigest() != payload.sha256:
        raise _changed(path)
    yield held
    if payload.on_progress is not None:
        payload.on_progress(payload.size, payload.size)


def _slices(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), _CHUNK):
        yield data[start : start + _CHUNK]


def _file_chunks(path: Path, size: int) -> Iterator[bytes]:
    try:
        # Without O_NONBLOCK a FIFO in the file's place would block for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            if os.fstat(stream.fileno()).st_size != size:
                raise _changed(path)
            left = size
            while left:
                chunk = stream.read(min(left, _CHUNK))
                if not chunk:
                    raise _changed(path)
                left -= len(chunk)
                yield chunk
    except OSError as error:
        message = f"{path} can't be read any more: {error.strerror or error}"
        raise PayloadChanged(message, "make the plan anew") from None


def _changed(path: Path) -> PayloadChanged:
    return PayloadChanged(f"{path} is not what it was when it was planned", "make the plan anew")
