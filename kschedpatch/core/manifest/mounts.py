"""Which files of the host a container can see."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any


def mount_paths(container: dict[str, Any]) -> tuple[str, ...]:
    mounts = container.get("volumeMounts")
    return tuple(
        mount["mountPath"]
        for mount in (mounts if isinstance(mounts, list) else ())
        if isinstance(mount, dict) and isinstance(mount.get("mountPath"), str)
    )


def is_mounted(path: str, mounts: tuple[str, ...]) -> bool:
    return any(PurePosixPath(path).is_relative_to(mount) for mount in mounts)
