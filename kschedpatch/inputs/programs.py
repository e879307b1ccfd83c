"""What a local program file says about itself in its ELF header: for which processor, and whether
it needs a loader that the image may not have."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from kschedpatch.core.architectures import of_elf

_EXECUTABLE, _SHARED, _INTERP = 2, 3, 3
_MAX_HEADERS = 512
_MAX_NAME = 4096
_LINUX = frozenset({0, 3})
"""EI_OSABI: none in particular, or Linux."""


class Program(NamedTuple):
    architecture: str
    loader: str
    """The dynamic loader that must be in the image; empty for a static program."""


class NoProgram(Exception):
    """Why the kernel of a node would not run it, in words."""


def read_program(path: Path) -> Program:
    with path.open("rb") as stream:
        try:
            return _read(stream, os.fstat(stream.fileno()).st_size)
        except struct.error:
            raise NoProgram("its ELF header is cut off") from None


def _read(stream: BinaryIO, size: int) -> Program:
    head = stream.read(64)
    if head[:4] != b"\x7fELF":
        raise NoProgram("it is no Linux program (ELF)")
    if len(head) < 52 or head[4] not in (1, 2) or head[5] not in (1, 2):
        raise NoProgram("its ELF header is broken")
    if head[7] not in _LINUX:
        raise NoProgram("it is made for another system than Linux")
    wide = head[4] == 2
    order: Literal["little", "big"] = "little" if head[5] == 1 else "big"
    sign = "<" if order == "little" else ">"
    kind, machine = struct.unpack_from(f"{sign}HH", head, 16)
    if kind not in (_EXECUTABLE, _SHARED):
        raise NoProgram("it is an object file or a core dump, no program")
    (start,) = struct.unpack_from(f"{sign}Q" if wide else f"{sign}I", head, 32 if wide else 28)
    length, count = struct.unpack_from(f"{sign}HH", head, 54 if wide else 42)
    if count == 0 or count > _MAX_HEADERS or length < (56 if wide else 32):
        raise NoProgram("it has no program headers: a library or an object file?")
    if start + length * count > size:
        raise NoProgram("it is cut off: its program headers lie beyond its end")
    stream.seek(start)
    headers = stream.read(length * count)
    loader = ""
    for at in range(0, length * count, length):
        (type_,) = struct.unpack_from(f"{sign}I", headers, at)
        if type_ == _INTERP:
            loader = _name(stream, headers, at, sign, wide=wide)
    return Program(of_elf(machine, order), loader)


def _name(stream: BinaryIO, headers: bytes, at: int, sign: str, *, wide: bool) -> str:
    if wide:
        (offset,) = struct.unpack_from(f"{sign}Q", headers, at + 8)
        (length,) = struct.unpack_from(f"{sign}Q", headers, at + 32)
    else:
        (offset,) = struct.unpack_from(f"{sign}I", headers, at + 4)
        (length,) = struct.unpack_from(f"{sign}I", headers, at + 16)
    if length > _MAX_NAME:
        raise NoProgram("the name of its loader is too long")
    try:
        stream.seek(offset)
    except (OSError, OverflowError, ValueError):
        raise NoProgram("the name of its loader lies beyond its end") from None
    return stream.read(length).rstrip(b"\0").decode("ascii", "backslashreplace") or "unnamed"
