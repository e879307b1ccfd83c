"""Images that a patch brings to the nodes, as values."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kschedpatch.model.sources import SourceFile


class Supply(StrEnum):
    """How the planned image comes to a node."""

    THERE = "there"
    PULL = "pull"
    ARCHIVE = "archive"
    """The archive is uploaded and imported."""
    UNKNOWN = "unknown"
    """Nothing on the node can tell: the kubelet gets it when the pod starts."""


class ArchiveVariant(NamedTuple):
    """The image for one architecture."""

    architecture: str
    """As Go names it: amd64, arm64, …"""
    image_id: str
    """``sha256:…`` of its configuration, which is what a CRI runtime calls the image's ID."""
    digests: tuple[str, ...]
    """Of its manifest and index, where the archive has them: dockers of today call that the ID."""
    stored: int
    """Bytes of its layers as they lie in the archive."""
    unpacked: int
    """Bytes of its layers when they are unpacked, about."""


class ImageArchive(NamedTuple):
    """One image out of a local archive; in the plan of a node with the variant for that node."""

    file: SourceFile
    image: str
    """The name under which the runtime knows it after the import."""
    compression: str
    """gzip, bzip2 or xz; empty: a plain tar."""
    variants: tuple[ArchiveVariant, ...]

    @property
    def ids(self) -> frozenset[str]:
        """What a runtime that has this image may call its ID."""
        return frozenset(id_ for one in self.variants for id_ in (one.image_id, *one.digests))
