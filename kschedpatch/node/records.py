"""Reads what the script on the node prints: records behind a random mark, among whatever else.

    @MARK ready                 the loader waits for the script
    @MARK fact KEY VALUE
    @MARK step TEXT
    @MARK blob KEY LENGTH       LENGTH raw bytes and a line break follow
    @MARK end CODE FRAMES       how a call went, and how many payloads it has read
    @MARK over CODE             its process has ended

Lines without this call's mark are noise (banners, a talkative .bashrc, another call's records).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_OUTPUT = 8 * 1024 * 1024
MAX_LINE = 64 * 1024
MAX_BLOB = 4 * 1024 * 1024

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./:-]{0,127}")
_NUMBER = re.compile(r"[0-9]{1,9}")


class Ready(NamedTuple):
    pass


class Fact(NamedTuple):
    key: str
    value: str


class Step(NamedTuple):
    text: str


class Blob(NamedTuple):
    key: str
    data: bytes


class End(NamedTuple):
    code: int
    frames: int = 0


class Over(NamedTuple):
    code: int


Record = Ready | Fact | Step | Blob | End | Over


class TooMuch(Exception):
    """More output, or a longer record, than is read."""


class Malformed(Exception):
    """A record with the right mark that says nothing we know."""


class RecordReader:
    """Takes bytes as they come, gives records as they are complete."""

    def __init__(self, mark: str) -> None:
        self._sign = f"@{mark} ".encode()
        self._buffer = bytearray()
        self._total = 0
        self._blob: tuple[str, int] | None = None

    def feed(self, data: bytes) -> Iterator[Record]:
        self._total += len(data)
        if self._total > MAX_OUTPUT:
            raise TooMuch(f"more than {MAX_OUTPUT >> 20} MiB of output")
        self._buffer += data
        while True:
            record = self._next_line() if self._blob is None else self._next_blob(*self._blob)
            if record is None:
                return
            if not isinstance(record, _Noise):
                yield record

    def unread(self) -> bytes:
        """What came behind the last record that was asked for."""
        return bytes(self._buffer)

    def _next_blob(self, key: str, size: int) -> Record | None:
        if len(self._buffer) <= size:
            return None
        if self._buffer[size] != 0x0A:
            raise Malformed(f"the blob {key} does not end where it should")
        data = bytes(self._buffer[:size])
        del self._buffer[: size + 1]
        self._blob = None
        return Blob(key, data)

    def _next_line(self) -> Record | _Noise | None:
        # Whatever stands before the sign is noise, also on the same line.
        start = self._buffer.find(self._sign)
        if start < 0:
            del self._buffer[: -len(self._sign)]  # one may have begun
            return None
        del self._buffer[:start]
        end = self._buffer.find(b"\n")
        if (end if end >= 0 else len(self._buffer)) > MAX_LINE:
            raise TooMuch(f"a record of more than {MAX_LINE >> 10} KiB")
        if end < 0:
            return None
        body = bytes(self._buffer[len(self._sign) : end])
        del self._buffer[: end + 1]
        return self._record(body)

    def _record(self, body: bytes) -> Record | _Noise:
        text = body.decode("utf-8", "backslashreplace")
        kind, _, rest = text.partition(" ")
        if kind == "step":
            return Step(rest)
        if kind == "ready" and not rest:
            return Ready()
        if kind == "fact":
            key, _, value = rest.partition(" ")
            return Fact(_checked(_KEY, key, text), value)
        if kind == "blob":
            key, _, length = rest.partition(" ")
            size = int(_checked(_NUMBER, length, text))
            if size > MAX_BLOB:
                raise TooMuch(f"a blob of {size} bytes")
            self._blob = (_checked(_KEY, key, text), size)
            return _Noise()
        if kind == "end":
            code, _, frames = rest.partition(" ")
            return End(int(_checked(_NUMBER, code, text)), int(_checked(_NUMBER, frames, text)))
        if kind == "over":
            return Over(int(_checked(_NUMBER, rest, text)))
        raise Malformed(f"an unknown record: {text[:80]}")


class _Noise(NamedTuple):
    """Nothing to hand on; look at what follows."""


def _checked(pattern: re.Pattern[str], value: str, record: str) -> str:
    if not pattern.fullmatch(value):
        raise Malformed(f"a malformed record: {record[:80]}")
    return value
