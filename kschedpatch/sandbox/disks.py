"""File systems of their own for a node's /etc and /var/lib, so that they can be full or read-only.

Needs root on Linux (tmpfs); elsewhere these faults are not to be had, and ``are_mounted`` is False.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

_PARTS = ("etc", "var/lib")


class Disks:
    def __init__(self, root: Path, *, wanted: bool) -> None:
        self._root = root.resolve()
        self._mounts = [self._root / part for part in _PARTS]
        for mount in self._mounts:
            mount.mkdir(parents=True, exist_ok=True)
        self.are_mounted = False
        if wanted and sys.platform == "linux" and os.geteuid() == 0:
            self.are_mounted = all(
                _mount("-t", "tmpfs", "-o", "size=4m,nr_inodes=1024,mode=755", "tmpfs", str(mount))
                for mount in self._mounts
            )

    def fill(self) -> Callable[[], None]:
        """No block and no inode is left, until the returned function is called."""
        ballast = [ballast for mount in self._mounts for ballast in _fill(mount)]

        def empty() -> None:
            for path in ballast:
                path.unlink(missing_ok=True)

        return empty

    def read_only(self, on: bool) -> None:
        option = "remount,ro" if on else "remount,rw"
        for mount in self._mounts:
            # Busy while somebody has a file open for writing.
            end = time.monotonic() + 2
            while not _mount("-o", option, str(mount)):
                if time.monotonic() > end:
                    raise OSError(f"{mount} could not be made {option}")
                time.sleep(0.02)

    def drop_foreign_mounts(self) -> None:
        """What somebody mounted on the node does not outlive its power."""
        own = {str(mount) for mount in self._mounts if self.are_mounted}
        for point in _mounts_below(self._root):
            if point not in own:
                _unmount(point)

    def close(self) -> None:
        if self.are_mounted:
            for mount in self._mounts:
                _unmount(str(mount))
            self.are_mounted = False


def _mounts_below(root: Path) -> list[str]:
    """The deepest first."""
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8").splitlines()
    except OSError:
        return []
    points = [line.split()[4] for line in lines]
    return sorted((p for p in points if p.startswith(f"{root}/")), reverse=True)


def _unmount(point: str) -> None:
    subprocess.run(["umount", "-l", point], check=False, capture_output=True)  # noqa: S603, S607 (below a sandbox's root)


def _mount(*words: str) -> bool:
    return subprocess.run(["mount", *words], check=False, capture_output=True).returncode == 0  # noqa: S603, S607 (own mount points)


def _fill(mount: Path) -> list[Path]:
    block = mount / ".ballast"
    made = [block]
    with block.open("wb", buffering=0) as ballast:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    ballast.write(b"\0" * size)
            except OSError:
                continue
    try:
        for index in range(10_000):
            path = mount / f".ballast.{index}"
            path.touch()
            made.append(path)
    except OSError:
        return made
    return made
