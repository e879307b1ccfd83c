"""Gives a directory of a node a small file system of its own, to fill it or make it read-only.

ext4 on a loop device, as on people's nodes: a full ext4 still renames but
creates nothing, which a tmpfs does not show.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from .console import run
from .node import Node
from .settings import STATE

KUBERNETES = "/etc/kubernetes"
TOOL_STATE = "/var/lib/kschedpatch"
_FILLER = ".rig-filler"


class SmallFilesystem:
    """A mount over one directory of a node, with the directory's content in it."""

    def __init__(self, node: Node, directory: str) -> None:
        self.node = node
        self.directory = directory
        self._device = ""

    def mount(self, megabytes: int = 16) -> None:
        image = STATE / f"{self.node.name}{self.directory.replace('/', '-')}.ext4"
        with image.open("wb") as content:
            content.truncate(megabytes << 20)
        # No blocks kept back for root: full must mean full.
        run(["mkfs.ext4", "-q", "-m", "0", "-N", "1024", str(image)])
        self._device = run(["losetup", "--find", "--show", str(image)]).stdout.decode().strip()
        number = self._device.removeprefix("/dev/loop")
        there, device = shlex.quote(self.directory), shlex.quote(self._device)
        # The kubelet must not see the directory come and go; running
        # containers keep the files that they have open.
        self.node.run(
            f"set -e; systemctl stop kubelet; mkdir -p {there}; "
            f"[ -b {device} ] || mknod {device} b 7 {number}; "
            f"scratch=$(mktemp -d); mount {device} $scratch; rmdir $scratch/lost+found; "
            f"cp -a {there}/. $scratch/; umount $scratch; rmdir $scratch; mount {device} {there}; "
            "systemctl start kubelet",
            timeout=120,
        )

    def fill(self) -> None:
        """No block and no inode is left."""
        there = shlex.quote(self.directory)
        # Inodes first: without blocks the filler's own directory could not grow. `true`, because
        # a failed redirection of a special builtin ends the shell.
        self.node.run(
            f"cd {there} && mkdir -p {_FILLER}; i=0; "
            f"while true > {_FILLER}/$i; do i=$((i + 1)); done 2>/dev/null; "
            f"dd if=/dev/zero of={_FILLER}/0 bs=64k 2>/dev/null; "
            f"dd if=/dev/zero of={_FILLER}/1 bs=1k 2>/dev/null; sync -f .",
            timeout=120,
            check=False,
        )

    def empty(self) -> None:
        self.node.run(f"rm -rf {shlex.quote(self.directory)}/{_FILLER}")

    def read_only(self) -> None:
        self.node.run(f"mount -o remount,ro {shlex.quote(self.directory)}")

    def writable(self) -> None:
        self.node.run(f"mount -o remount,rw {shlex.quote(self.directory)}")

    def unmount(self) -> None:
        """Back to the directory below, with the content that the small file system has now."""
        there = shlex.quote(self.directory)
        self.writable()
        self.empty()
        # Only what differs is written below: containers hold these very files and directories,
        # an API server its certificates. Unmounted lazily, for the same reason.
        self.node.run(
            f"set -e; systemctl stop kubelet; scratch=$(mktemp -d); cp -a {there}/. $scratch/; "
            f"umount -l {there}; cd $scratch; "
            f"find . -type d | while read -r d; do mkdir -p {there}/$d; done; "
            "find . ! -type d | while read -r f; do "
            f"cmp -s $f {there}/$f || cp -a $f {there}/$f; done; "
            f"cd {there}; "
            "find . ! -type d | while read -r f; do [ -e $scratch/$f ] || rm $f; done; "
            f"rm -rf $scratch; systemctl start kubelet",
            timeout=120,
        )
        run(["losetup", "--detach", self._device], check=False)


@contextmanager
def small_filesystem(node: Node, directory: str, megabytes: int = 16) -> Iterator[SmallFilesystem]:
    filesystem = SmallFilesystem(node, directory)
    filesystem.mount(megabytes)
    try:
        yield filesystem
    finally:
        filesystem.unmount()
