"""Which image an archive holds: ``docker save`` and OCI layouts name it in a small JSON file."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

_MAX_INDEX = 1024 * 1024
_OCI_NAME = "org.opencontainers.image.ref.name"
_CONTAINERD_NAME = "io.containerd.image.name"


def image_of_archive(path: Path, wanted: str | None) -> tuple[str, str]:
    """(image, problem): the image that is meant, or why that can't be said."""
    try:
        names = _names(path)
    except (OSError, tarfile.TarError, ValueError, KeyError, TypeError) as error:
        return "", f"{path.name} is no image archive: {error}"
    if wanted is not None:
        if names and wanted not in names:
            return "", f"{path.name} holds {', '.join(names)}, not {wanted}"
        return wanted, ""
    if len(names) == 1:
        return names[0], ""
    held = f"holds {', '.join(names)}" if names else "names no image"
    return "", f"{path.name} {held}: say which with image"


def _names(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        entries = {name: _json(archive, name) for name in ("manifest.json", "index.json")}
    if all(entry is None for entry in entries.values()):
        raise ValueError("neither manifest.json nor index.json is in it")
    names: list[str] = []
    for item in entries["manifest.json"] or ():
        names += item.get("RepoTags") or []
    if not names:
        for item in (entries["index.json"] or {}).get("manifests", ()):
            notes = item.get("annotations") or {}
            name = notes.get(_CONTAINERD_NAME) or notes.get(_OCI_NAME)
            if isinstance(name, str):
                names.append(name)
    return list(dict.fromkeys(names))


def _json(archive: tarfile.TarFile, name: str) -> Any:
    try:
        member = archive.getmember(name)
    except KeyError:
        return None
    if not member.isfile() or member.size > _MAX_INDEX:
        raise ValueError(f"{name} in it is not a small file")
    stream = archive.extractfile(member)
    return json.load(stream) if stream else None
