"""One machine of the rig: a directory booted with systemd-nspawn.

It is driven from outside through its namespaces, so that it can be looked at
and repaired while its network is cut or its sshd is down.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import cgroups, network
from .access import Access
from .console import RigError, run, say, wait_until
from .settings import BRIDGE, HOST_ADDRESS, MACHINE_PREFIX, STATE

_TREES = Path(__file__).parent / "tree"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass
class Machine:
    name: str
    address: str
    inner: str
    kinds: tuple[str, ...]
    """Directories of `tree/` that are laid over the base tree."""
    binds: Mapping[str, Path] = field(default_factory=dict)
    """Files of this machine that the booted one sees read-only, by path there."""
    access: Access = field(default_factory=lambda: Access(STATE / "access"))

    @property
    def id(self) -> str:
        return f"{MACHINE_PREFIX}{self.name}"

    @property
    def tree(self) -> Path:
        return STATE / "machines" / self.name

    @property
    def _pid_file(self) -> Path:
        return STATE / f"{self.name}.pid"

    def create(self, base: Path) -> None:
        self.tree.parent.mkdir(parents=True, exist_ok=True)
        run(["cp", "-a", "--reflink=auto", str(base), str(self.tree)])
        for kind in self.kinds:
            self._lay(_TREES / kind)
        for path, text in network.machine_files(self.name, self.address, self.inner).items():
            self.put(path, text)
        for path, (content, mode) in self.access.machine_files(self._host_key_name).items():
            self.put(path, content, mode)
        self.access.authorize(self.tree)

    @property
    def _host_key_name(self) -> str:
        return self.name

    def _lay(self, source: Path) -> None:
        for path in sorted(source.rglob("*")):
            if path.is_file():
                target = path.relative_to(source)
                # A checkout keeps no other modes than these two, and may
                # belong to another user; sudo and sshd mind both.
                self.put(
                    str(target), path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644
                )

    def put(self, path: str, content: bytes | str, mode: int = 0o644) -> None:
        """Write a file into the tree, as the machine's root. For what must be atomic, use `run`."""
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink():
            target.unlink()
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)

    def enable(self, *units: str) -> None:
        run(["chroot", str(self.tree), "systemctl", "enable", *units])

    # --- power

    def boot(self) -> None:
        """Start it; `wait_booted` tells when it can be used."""
        if self.process is not None:
            raise RigError(f"{self.name} is running")
        groups = cgroups.create(self.id)
        enter = "".join(
            f"echo $$ > {shlex.quote(str(group / 'cgroup.procs'))}\n" for group in groups
        )
        nspawn = [
            "systemd-nspawn",
            "--quiet",
            "--boot",
            f"--directory={self.tree}",
            f"--machine={self.id}",
            f"--hostname={self.name}",
            f"--network-bridge={BRIDGE}",
            "--capability=all",
            # runc joins session keyrings.
            "--system-call-filter=@keyring bpf",
            "--bind=/dev/kmsg",
            "--resolv-conf=off",
            "--timezone=off",
            # Where no systemd runs outside, nobody is there to register with.
            "--keep-unit",
            "--register=no",
            "--link-journal=no",
            *(f"--bind-ro={source}:{target}" for target, source in self.binds.items()),
        ]
        with (STATE / f"{self.name}.console").open("ab") as console:
            process = subprocess.Popen(
                ["/bin/sh", "-ec", f"{enter}exec {shlex.join(nspawn)}"],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                # A Ctrl-C in the terminal is for the tests; they end it in order.
                start_new_session=True,
            )
        self._pid_file.write_text(f"{process.pid} {_start_time(process.pid)}")

    @property
    def process(self) -> int | None:
        """The id of its nspawn process, while there is one."""
        try:
            pid, start = self._pid_file.read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        _reap(int(pid))
        return int(pid) if _start_time(int(pid)) == start else None

    @property
    def leader(self) -> int:
        """The id, here, of its process 1."""
        parent = self.process
        if parent is not None:
            for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
                status = Path(f"/proc/{child}/status").read_text()
                ids = next(
                    line for line in status.splitlines() if line.startswith("NSpid:")
                ).split()[1:]
                if len(ids) > 1 and ids[-1] == "1":
                    return int(child)
        raise RigError(f"{self.name} is not running")

    def wait_booted(self, timeout: float = 60) -> None:
        def ssh_answers() -> bool:
            with socket.create_connection((self.address, 22), timeout=2) as connection:
                return connection.recv(4) == b"SSH-"

        wait_until(
            f"sshd of {self.name} (see {STATE / f'{self.name}.console'})",
            ssh_answers,
            timeout,
        )

    def reboot(self, timeout: float = 90) -> None:
        """An orderly reboot; returns when it accepts logins again."""
        self.shut_down(timeout, "reboot")
        self.boot()
        self.wait_booted(timeout)

    def shut_down(self, timeout: float = 90, how: str = "poweroff") -> None:
        self.run(f"systemctl {how}", check=False)
        # With these options a reboot inside just ends the nspawn process; the
        # state is on disk, so booting it anew is the other half.
        wait_until(f"the shutdown of {self.name}", lambda: self.process is None, timeout)

    def power_off(self, timeout: float = 30) -> None:
        """As if the plug was pulled: no process gets a chance to say goodbye."""
        parent = self.process
        if parent is None:
            return
        try:
            os.kill(self.leader, signal.SIGKILL)
        except (RigError, FileNotFoundError):
            os.kill(parent, signal.SIGKILL)
        wait_until(f"the end of {self.name}", lambda: self.process is None, timeout)

    def remove(self) -> None:
        self.power_off()
        shutil.rmtree(self.tree, ignore_errors=True)

    # --- commands

    def run(
        self, script: str, *, stdin: bytes | None = None, timeout: float = 60, check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a shell script as the machine's root, without the network."""
        enter = [
            "nsenter",
            f"--target={self.leader}",
            "--mount",
            "--uts",
            "--ipc",
            "--net",
            "--pid",
            "--",
        ]
        clean = ["/usr/bin/env", "-i", f"PATH={_PATH}", "HOME=/root", "LANG=C.UTF-8"]
        return run(
            [*enter, *clean, "/bin/sh", "-c", script], stdin=stdin, timeout=timeout, check=check
        )

    def output(self, script: str, *, timeout: float = 60) -> str:
        return self.run(script, timeout=timeout).stdout.decode(errors="replace").strip()

    def ssh(
        self, command: str, *, user: str = "root", timeout: float = 60
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command as an operator would; the exit code is the caller's to judge."""
        config = str(self.access.ssh_config)
        return run(
            ["ssh", "-F", config, "-l", user, self.name, command], timeout=timeout, check=False
        )

    # --- network

    def cut_network(self) -> None:
        network.cut(self.id)
        say(f"{self.name}: network cut")

    def restore_network(self) -> None:
        network.restore(self.id)
        say(f"{self.name}: network restored")

    def hide_from_host(self) -> None:
        """Nothing that it answers arrives here; the machines among themselves notice nothing."""
        self.run(f"ip route add blackhole {HOST_ADDRESS}")
        say(f"{self.name}: answers this machine no more")

    def show_to_host(self) -> None:
        self.run(f"ip route delete blackhole {HOST_ADDRESS}", check=False)
        say(f"{self.name}: answers again")


def _start_time(pid: int) -> str:
    """What tells a process from a later one with the same id; empty when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def _reap(pid: int) -> None:
    # Another run's child is reaped by its own parent, or by process 1.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
