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
        self._mounts = [root / part for part in _PARTS]
        for mount in self._mounts:
            mount.mkdir(parents=True, exist_ok=True)
        self.are_mounted = False
        if wanted and sys.platform == "linux" and os.geteuid() == 0:
            self.are_mounted = all(
                _mount("-t", "tmpfs", "-o", "size=8m,nr_inodes=4096,mode=755", "tmpfs", str(mount))
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

    def close(self) -> None:
        if self.are_mounted:
            for mount in self._mounts:
                subprocess.run(["umount", "-l", str(mount)], check=False)  # noqa: S603, S607 (ours)
            self.are_mounted = False


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
