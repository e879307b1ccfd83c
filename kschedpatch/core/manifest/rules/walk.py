"""Walks over the parts of a pod without trusting their types (``podschema`` names wrong ones)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedpatch.model.finding import Path


def dicts(value: Any, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The mappings in a list, each with its path. A null item is an empty one to the kubelet."""
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield (*path, index), item
        elif item is None:
            yield (*path, index), {}


def strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The strings in a list, each with its path. A null item is an empty one to the kubelet."""
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, str) or item is None:
            yield (*path, index), item or ""


def containers_of(spec: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for key in ("initContainers", "containers"):
        yield from dicts(spec.get(key), ("spec", key))
