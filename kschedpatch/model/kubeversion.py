"""A Kubernetes version. Only the minor decides rules; the patch release is kept for people."""

from __future__ import annotations

import re
from typing import NamedTuple

OLDEST_MINOR = 22
NEWEST_MINOR = 36

_VERSION = re.compile(r"v?1\.(\d{1,3})(?:\.(\d{1,4}))?(?:[-+][0-9A-Za-z.+-]{1,64})?", re.ASCII)


class KubeVersion(NamedTuple):
    minor: int
    patch: int | None = None

    def __str__(self) -> str:
        return f"1.{self.minor}" if self.patch is None else f"1.{self.minor}.{self.patch}"

    @property
    def is_known(self) -> bool:
        return OLDEST_MINOR <= self.minor <= NEWEST_MINOR


def parse_version(text: str) -> KubeVersion | None:
    """``v1.34.2``, ``1.34``, ``v1.34.2-gpumps`` → a version; anything else → None."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    patch = int(match[2]) if match[2] is not None else None
    return KubeVersion(int(match[1]), patch)


def version_of_image(image: str) -> KubeVersion | None:
    """The version in an image's tag, if the tag is one (``…/kube-scheduler:v1.34.2``).

    A colon before the last slash is a registry's port, not a tag; a digest says nothing.
    """
    name = image.split("@", 1)[0].rsplit("/", 1)[-1]
    _, colon, tag = name.partition(":")
    return parse_version(tag) if colon else None


def unsupported(version: KubeVersion) -> str:
    return (
        f"Kubernetes {version} is not supported: "
        f"the tables reach from 1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}"
    )
