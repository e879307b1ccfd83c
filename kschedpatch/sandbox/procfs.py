"""What a node's /proc shows: its processes, its listeners and its memory (the node has its clock).

Ids of processes lie above the kernel's highest, so that a signal sent to one can never hit a real
process.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
import shutil
import sys
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

Listener = tuple[str, int]
"""The address and the port."""

_ids = itertools.count(5_000_000)
_NET_HEADER = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   "
    "uid  timeout inode"
)
_NET_REST = (
    "00000000:00000000 00:00000000 00000000     0        0 20259 1 0000000000000000 100 0 0 10 0"
)
_MEMORY_KIB = 8_000_000
_RSS_KIB = 52_000
#: What containerd leaves to root in a container.
_CAPABILITIES = 0xA80425FB


class ProcFs:
    def __init__(self, root: Path, sim: Path) -> None:
        self._directory = root / "proc"
        self._sim = sim
        self._available = 6_000_000
        self.others = {6443: "0.0.0.0", 10257: "127.0.0.1"}  # noqa: S104 (simulated)
        """Where programs listen that are not simulated: API server and controller manager."""
        self._shown: dict[Path, str] = {}
        (self._directory / "net").mkdir(parents=True, exist_ok=True)

    # The machine

    def boot(self) -> None:
        (self._directory / "sys/kernel/random/boot_id").write_text(f"{uuid.uuid4()}\n")
        self.set_memory(self._available)

    def set_memory(self, available_kib: int) -> None:
        """It stays so after a reboot: it stands for what else runs on the node."""
        self._available = available_kib
        amounts = {"MemTotal": _MEMORY_KIB, "MemFree": available_kib, "MemAvailable": available_kib}
        lines = [f"{name + ':':<16}{kib:>8} kB\n" for name, kib in amounts.items()]
        self._show(self._directory / "meminfo", "".join(lines))

    def listen(self, listeners: Iterable[Listener]) -> None:
        """All that listens on the node, in the kernel's words: these and the others."""
        four: list[str] = []
        six: list[str] = []
        for host, port in (*listeners, *((host, port) for port, host in self.others.items())):
            address = ipaddress.ip_address(host)
            shown = f"{_hex(address.packed)}:{port:04X}"
            (four if address.version == 4 else six).append(shown)
        for name, addresses in (("tcp", four), ("tcp6", six)):
            self._show(self._directory / "net" / name, _listening(addresses))

    def _show(self, path: Path, text: str) -> None:
        """In one step: a reader finds what was there before, or all of this."""
        if self._shown.get(path) == text:
            return
        fresh = self._sim / f"proc-{path.name}.new"
        fresh.write_text(text)
        fresh.rename(path)
        self._shown[path] = text

    # Processes

    def start(
        self, command: list[str], *, mounts: str, files: Mapping[str, Path], user: int = 0
    ) -> int:
        """A process in a container: ``files`` are those of the node that it sees, by their path."""
        pid = next(_ids)
        # Made aside and renamed: no reader finds a process that is there by half.
        directory = self._sim / f"started.{pid}"
        directory.mkdir()
        name = Path(command[0]).name[:15] if command else "kube-scheduler"
        (directory / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in command))
        (directory / "comm").write_text(f"{name}\n")
        (directory / "mountinfo").write_text(mounts)
        (directory / "status").write_text(
            f"Name:\t{name}\nUid:\t{user}\t{user}\t{user}\t{user}\nGid:\t0\t0\t0\t0\nGroups:\t \n"
            f"VmRSS:\t{_RSS_KIB:>8} kB\nCapEff:\t{0 if user else _CAPABILITIES:016x}\n"
        )
        inside = directory / "root"
        inside.mkdir()
        for path, real in files.items():
            link = inside / os.path.normpath(path).lstrip("/")
            if any(above.is_symlink() for above in link.parents):
                continue  # within another mount, which shows it
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(real)  # a link: it shows what the file says now
        directory.rename(self._directory / str(pid))
        return pid

    def start_other(self, command: list[str]) -> int:
        """Some program of the node's that is at work (kubeadm upgrade …)."""
        return self.start(command, mounts="", files={})

    def has(self, pid: str) -> bool:
        return pid.isdigit() and (self._directory / pid).is_dir()

    def end(self, pid: int) -> None:
        directory = self._directory / str(pid)
        # Gone in one step, as a process is: no reader finds it half removed.
        gone = self._sim / f"ended.{pid}"
        if directory.exists():
            directory.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)

    def end_all(self) -> None:
        for directory in self._directory.glob("[0-9]*"):
            shutil.rmtree(directory, ignore_errors=True)


def _hex(packed: bytes) -> str:
    """The kernel prints each four bytes as a number of the machine's own byte order."""
    words = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


def _listening(addresses: list[str]) -> str:
    lines = [_NET_HEADER]
    for index, address in enumerate(sorted(set(addresses))):
        nobody = "0" * len(address.partition(":")[0]) + ":0000"
        lines.append(f"{index:4}: {address} {nobody} 0A {_NET_REST}")
    return "".join(f"{line}\n" for line in lines)
