"""Which image an archive holds: ``docker save`` and OCI layouts name it in a small JSON file.

An archive is a stranger's file: what it unpacks to is bounded before it is unpacked.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import tarfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

_MAX_INDEX = 1024 * 1024
_MAX_READ = 2 * 1024 * 1024
_MAX_SIZE = 16 * 1024 * 1024 * 1024
_MAX_UNPACKED = 512 * 1024 * 1024
_MAX_MEMBERS = 20_000
_OCI_NAME = "org.opencontainers.image.ref.name"
_CONTAINERD_NAME = "io.containerd.image.name"
_COMPRESSIONS: tuple[tuple[bytes, Any], ...] = (
    (b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw)),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
    (b"BZh", bz2.BZ2File),
)
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, ValueError)


def image_of_archive(path: Path, wanted: str | None) -> tuple[str, str]:
    """(image, problem): the image that is meant, or why that can't be said."""
    try:
        names = _names(path)
    except _NotAnArchive as error:
        return "", f"{path.name} is no image archive: {error}"
    except _BROKEN:
        hint = "make one with docker save or ctr images export"
        return "", f"{path.name} is no tar archive, or a broken one; {hint}"
    if wanted is not None:
        if names and wanted not in names:
            return "", f"{path.name} holds {', '.join(names)}, not {wanted}"
        return wanted, ""
    if len(names) == 1:
        return names[0], ""
    held = f"holds {', '.join(names)}" if names else "names no image"
    return "", f"{path.name} {held}: say which with image"


class _NotAnArchive(Exception):
    """What is wrong with it, in words."""


class _Bounded:
    """A file of bounded length, read in bounded pieces: tarfile reads a header as it is told to."""

    def __init__(self, stream: Any, size: int) -> None:
        self.stream = stream
        self.size = size

    def read(self, count: int = -1) -> bytes:
        if not 0 <= count <= _MAX_READ:
            raise _NotAnArchive("a header in it is too large")
        data: bytes = self.stream.read(count)
        return data

    def seek(self, position: int, whence: int = 0) -> int:
        if whence != 0 or position > self.size:
            raise _NotAnArchive(f"it holds more than {self.size >> 20} MiB")
        result: int = self.stream.seek(position)
        return result

    def tell(self) -> int:
        result: int = self.stream.tell()
        return result


def _names(path: Path) -> list[str]:
    with path.open("rb") as raw:
        stream, size = _unpacked(raw)
        found: dict[str, Any] = {}
        with tarfile.open(fileobj=_Bounded(stream, size), mode="r:") as archive:  # type: ignore[call-overload]
            for count, member in enumerate(archive):
                if count > _MAX_MEMBERS:
                    raise _NotAnArchive(f"it has more than {_MAX_MEMBERS} members")
                if member.name in ("manifest.json", "index.json"):
                    found[member.name] = _json(archive, member)
    if not found:
        raise _NotAnArchive("neither manifest.json nor index.json is in it")
    names = _docker_names(found.get("manifest.json")) or _oci_names(found.get("index.json"))
    for name in names:
        if not name.isascii() or not name.isprintable() or len(name) > 512:
            raise _NotAnArchive("the name of an image in it is unreadable")
    return list(dict.fromkeys(names))


def _unpacked(raw: BinaryIO) -> tuple[Any, int]:
    head = raw.read(6)
    raw.seek(0)
    for magic, reader in _COMPRESSIONS:
        if head.startswith(magic):
            return reader(raw), _MAX_UNPACKED
    return raw, _MAX_SIZE


def _json(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Any:
    if not member.isfile():
        raise _NotAnArchive(f"{member.name} in it is no file")
    if member.size > _MAX_INDEX:
        raise _NotAnArchive(f"{member.name} in it is too large")
    stream = archive.extractfile(member)
    try:
        return json.loads(stream.read() if stream else b"")
    except (ValueError, RecursionError):
        raise _NotAnArchive(f"{member.name} in it is no JSON") from None


def _docker_names(manifest: Any) -> list[str]:
    if manifest is None:
        return []
    if not isinstance(manifest, list) or not all(isinstance(item, dict) for item in manifest):
        raise _NotAnArchive("manifest.json in it is not what docker save writes")
    tags = [tag for item in manifest for tag in item.get("RepoTags") or ()]
    if not all(isinstance(tag, str) for tag in tags):
        raise _NotAnArchive("manifest.json in it is not what docker save writes")
    return tags


def _oci_names(index: Any) -> list[str]:
    entries = index.get("manifests") if isinstance(index, dict) else None
    if index is not None and not isinstance(entries, list):
        raise _NotAnArchive("index.json in it is no OCI index")
    names = []
    for item in entries or ():
        notes = item.get("annotations") if isinstance(item, dict) else None
        if not isinstance(notes, dict):
            continue
        name = notes.get(_CONTAINERD_NAME) or notes.get(_OCI_NAME)
        if isinstance(name, str):
            names.append(name)
    return names
