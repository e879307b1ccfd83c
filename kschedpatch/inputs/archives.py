"""Which image an archive holds, for which processors, and how large it gets.

An archive is a stranger's file: what it unpacks to is bounded before it is unpacked.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from kschedpatch.core.imagenames import full_name
from kschedpatch.inputs.archiveformats import (
    Member,
    NamedImage,
    NotAnArchive,
    images_in,
    unpacked_size,
)
from kschedpatch.model.images import ImageArchive
from kschedpatch.model.sources import SourceFile

_MAX_JSON = 1024 * 1024
_MAX_ALL_JSON = 8 * 1024 * 1024
_MAX_READ = 2 * 1024 * 1024
_MAX_SIZE = 16 * 1024 * 1024 * 1024
_MAX_UNPACKED = 512 * 1024 * 1024
_MAX_MEMBERS = 20_000
_ZSTD = b"\x28\xb5\x2f\xfd"
_COMPRESSIONS: tuple[tuple[str, bytes, Any], ...] = (
    ("gzip", b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw)),
    ("xz", b"\xfd7zXZ\x00", lzma.LZMAFile),
    ("bzip2", b"BZh", bz2.BZ2File),
)
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, ValueError)
_SAVE = "make one with docker save NAME or ctr images export"


class ArchiveReading(NamedTuple):
    archive: ImageArchive | None
    problem: str
    """Why there is none, in words."""


def read_archive(path: Path, file: SourceFile, wanted: str | None) -> ArchiveReading:
    """The image that is meant: the one that ``wanted`` names, or the only one."""
    try:
        images, compression = _images(path)
        image = _meant(images, wanted)
    except NotAnArchive as error:
        return ArchiveReading(None, f"{path.name} is no image archive: {error}")
    except _Unclear as error:
        return ArchiveReading(None, f"{path.name} {error}")
    except _BROKEN:
        return ArchiveReading(None, f"{path.name} is no tar archive, or a broken one; {_SAVE}")
    # The user's own spelling stays; a runtime takes the short name for the full one.
    return ArchiveReading(ImageArchive(file, wanted or image.name, compression, image.variants), "")


class _Unclear(Exception):
    """Why it can't be said which image is meant."""


def _meant(images: list[NamedImage], wanted: str | None) -> NamedImage:
    names = ", ".join(image.name for image in images)
    if not images:
        raise _Unclear(f"names no image: save it by its name ({_SAVE})")
    if wanted is not None:
        chosen = [image for image in images if image.name == full_name(wanted)]
        if not chosen:
            raise _Unclear(f"holds {names}, not {wanted}")
    elif len(images) > 1:
        raise _Unclear(f"holds {names}: say which with image")
    else:
        chosen = images
    if not chosen[0].variants:
        raise _Unclear(f"holds no Linux image of the name {chosen[0].name}, only its name")
    return chosen[0]


class _Bounded:
    """A file of bounded length, read in bounded pieces: tarfile reads a header as it is told to."""

    def __init__(self, stream: Any, size: int) -> None:
        self.stream = stream
        self.size = size

    def read(self, count: int = -1) -> bytes:
        if not 0 <= count <= _MAX_READ:
            raise NotAnArchive("a header in it is too large")
        data: bytes = self.stream.read(count)
        return data

    def seek(self, position: int, whence: int = 0) -> int:
        if whence != 0 or position > self.size:
            raise NotAnArchive(f"it holds more than {self.size >> 20} MiB")
        result: int = self.stream.seek(position)
        return result

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        result: int = self.stream.tell()
        return result


def _images(path: Path) -> tuple[list[NamedImage], str]:
    with path.open("rb") as raw:
        stream, size, compression = _decompressed(raw)
        members: dict[str, Member] = {}
        left = _MAX_ALL_JSON
        with tarfile.open(fileobj=_Bounded(stream, size), mode="r:") as archive:  # type: ignore[call-overload]
            for count, header in enumerate(archive):
                if count > _MAX_MEMBERS:
                    raise NotAnArchive(f"it has more than {_MAX_MEMBERS} members")
                name = header.name.removeprefix("./")
                if header.isfile():
                    members[name] = member = _member(archive, header, left)
                    left -= len(member.text or b"")
    return images_in(members), compression


def _decompressed(raw: BinaryIO) -> tuple[Any, int, str]:
    head = raw.read(6)
    raw.seek(0)
    if head.startswith(_ZSTD):
        raise NotAnArchive("it is packed with zstd, which is not read here: unpack it, or use gzip")
    for name, magic, reader in _COMPRESSIONS:
        if head.startswith(magic):
            return reader(raw), _MAX_UNPACKED, name
    return raw, _MAX_SIZE, ""


def _member(archive: tarfile.TarFile, header: tarfile.TarInfo, left: int) -> Member:
    stream = archive.extractfile(header)
    if stream is None:
        return Member(header.size, header.size, None)
    head = stream.read(min(4, header.size))
    if head[:1] in (b"{", b"[") and header.size <= min(_MAX_JSON, left):
        return Member(header.size, header.size, head + stream.read(header.size - len(head)))
    tail = b""
    if head.startswith(b"\x1f\x8b") and header.size > 18:
        stream.seek(header.size - 4)
        tail = stream.read(4)
    return Member(header.size, unpacked_size(head, tail, header.size), None)
