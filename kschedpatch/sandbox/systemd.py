"""Just enough of systemd for the dead man: units are read from the node's own files, and run.

The processes are real. They get the node's environment, and an INVOCATION_ID by which all of a
unit's processes are found again when it is stopped.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from kschedpatch.sandbox.journal import Journal
from kschedpatch.sandbox.requests import Reply
from kschedpatch.sandbox.simulation import Simulation


class UnitFile(NamedTuple):
    before: tuple[str, ...]
    starts_pre: tuple[str, ...]
    start: str
    restart: str
    restart_seconds: float
    wanted_by: tuple[str, ...]
    environment: tuple[str, ...]


def read_unit(path: Path) -> UnitFile:
    found: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith(("#", ";")):
            found.setdefault(key.strip(), []).append(value.strip())

    def words(key: str) -> tuple[str, ...]:
        return tuple(word for value in found.get(key, ()) for word in shlex.split(value))

    return UnitFile(
        before=words("Before"),
        starts_pre=tuple(found.get("ExecStartPre", ())),
        start=found.get("ExecStart", [""])[-1],
        restart=found.get("Restart", ["no"])[-1],
        restart_seconds=float(found.get("RestartSec", ["0.1"])[-1].removesuffix("s")),
        wanted_by=words("WantedBy"),
        environment=words("Environment"),
    )


class Unit:
    def __init__(self, name: str, systemd: Systemd) -> None:
        self.name = name
        self._systemd = systemd
        self.state = "inactive"
        self.process: subprocess.Popen[bytes] | None = None
        self._invocation = ""
        self._stopping = threading.Event()
        self._lock = threading.Lock()

    def start(self, file: UnitFile) -> bool:
        """Runs ExecStartPre to its end and starts ExecStart; False where that failed."""
        with self._lock:
            if self.state == "active":
                return True
            self._stopping.clear()
            return self._launch(file)

    def _launch(self, file: UnitFile) -> bool:
        self.state = "activating"
        self._invocation = uuid.uuid4().hex
        for command in file.starts_pre:
            code = self._systemd.run(command, self.name, self._environment(file)).wait()
            if self._stopping.is_set():
                self.state = "inactive"
                return False
            if code != 0 and not command.startswith("-"):
                self.state = "failed"
                return False
        self.process = self._systemd.run(file.start, self.name, self._environment(file))
        if self._stopping.is_set():  # stopped between the two
            kill_by_environment(f"INVOCATION_ID={self._invocation}")
            self.state = "inactive"
            return False
        self.state = "active"
        waiter = threading.Thread(target=self._wait, args=(file, self.process), daemon=True)
        waiter.start()
        return True

    def _environment(self, file: UnitFile) -> dict[str, str]:
        given = dict(word.partition("=")[::2] for word in file.environment)
        return {**given, "INVOCATION_ID": self._invocation}

    def _wait(self, file: UnitFile, process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        kill_by_environment(f"INVOCATION_ID={self._invocation}")
        if self._stopping.is_set():
            return
        failed = code != 0
        self.state = "failed" if failed else "inactive"
        if file.restart == "always" or (failed and file.restart == "on-failure"):
            self.state = "activating"
            if self._stopping.wait(self._systemd.simulation.real(file.restart_seconds)):
                return
            with self._lock:
                if not self._stopping.is_set() and self.process is process:
                    self._launch(file)

    def stop(self, *, sign: signal.Signals = signal.SIGTERM) -> None:
        self._stopping.set()
        if not self._invocation:
            return  # never started
        ended = time.monotonic() + 5
        while kill_by_environment(f"INVOCATION_ID={self._invocation}", sign):
            if time.monotonic() > ended - 4:
                sign = signal.SIGKILL
            if time.monotonic() > ended:
                break
            time.sleep(0.02)
        self.state = "inactive"
        self.process = None


class Systemd:
    def __init__(
        self,
        root: Path,
        simulation: Simulation,
        journal: Journal,
        environment: Callable[[], Mapping[str, str]],
        kubelet: Callable[[str], bool],
    ) -> None:
        self.root = root
        self.simulation = simulation
        self._journal = journal
        self._environment = environment
        self._kubelet = kubelet
        self.units: dict[str, Unit] = {}
        self._is_on = False

    @property
    def directory(self) -> Path:
        return self.root / "etc/systemd/system"

    def run(self, command: str, unit: str, extra: Mapping[str, str]) -> subprocess.Popen[bytes]:
        words = [self._on_node(word) for word in shlex.split(command.lstrip("-@+!"))]
        with self._journal.path(unit).open("ab") as journal:
            return subprocess.Popen(  # noqa: S603 (the node's own unit file says what)
                words,
                env={**self._environment(), **extra},
                stdin=subprocess.DEVNULL,
                stdout=journal,
                stderr=journal,
                cwd=self.root,
                start_new_session=True,
            )

    def _on_node(self, word: str) -> str:
        """A path of the unit file as a real one; programs of the machine stay what they are."""
        if not word.startswith("/") or word.startswith(str(self.root)):
            return word
        here = self.root / word.lstrip("/")
        return str(here) if here.exists() else word

    def boot(self) -> None:
        """Starts what is enabled, and the kubelet after those that stand before it."""
        self._is_on = True
        wants = self.directory / "multi-user.target.wants"
        names = sorted(p.name for p in wants.iterdir()) if wants.is_dir() else []
        files = {n: read_unit(self.directory / n) for n in names if (self.directory / n).is_file()}
        first = [n for n, file in files.items() if "kubelet.service" in file.before]
        for name in first:
            self._unit(name).start(files[name])
        self._kubelet("start")
        for name, file in files.items():
            if name not in first:
                self._unit(name).start(file)

    def lose_power(self) -> None:
        self._is_on = False
        for unit in list(self.units.values()):
            unit.stop(sign=signal.SIGKILL)
        self.units = {}

    def _unit(self, name: str) -> Unit:
        return self.units.setdefault(name, Unit(name, self))

    def systemctl(self, arguments: tuple[str, ...]) -> Reply:
        if not self._is_on:
            return Reply(1, "", "the node has no power\n")
        words = [word for word in arguments if not word.startswith("-")]
        verb, names = (words[0], words[1:]) if words else ("", [])
        now = "--now" in arguments
        replies = [self._one(verb, _service(name), now=now) for name in names]
        return next((reply for reply in replies if reply.code), (replies or [Reply()])[-1])

    def _one(self, verb: str, name: str, *, now: bool) -> Reply:
        if name in {"kubelet.service", "containerd.service", "sshd.service", "ssh.service"}:
            return self._machine_unit(verb, name)
        path, link = self.directory / name, self.directory / "multi-user.target.wants" / name
        active = name in self.units and self.units[name].state == "active"
        if verb == "is-active":
            state = self.units[name].state if name in self.units else "inactive"
            return Reply(0 if active else 3, f"{state}\n")
        if verb == "is-enabled":
            return Reply(0, "enabled\n") if link.is_symlink() else Reply(1, "disabled\n")
        if verb in {"disable", "stop", "kill", "reset-failed"}:
            if verb == "disable":
                try:
                    link.unlink(missing_ok=True)
                except OSError as error:
                    return Reply(1, "", f"Failed to disable unit: {error.strerror}\n")
            if (verb in {"stop", "kill"} or now) and name in self.units:
                self.units[name].stop()
            return Reply()
        if not path.is_file():
            return Reply(5, "", f"Failed to {verb} {name}: Unit {name} not found.\n")
        if verb == "enable":
            try:
                link.parent.mkdir(exist_ok=True)
                if not link.is_symlink():
                    link.symlink_to(f"/etc/systemd/system/{name}")
            except OSError as error:
                return Reply(1, "", f"Failed to enable unit: {error.strerror}\n")
        if verb == "restart" and name in self.units:
            self.units[name].stop()
        if (verb in {"start", "restart"} or now) and not self._unit(name).start(read_unit(path)):
            text = f"Job for {name} failed because the control process exited with error code.\n"
            return Reply(1, "", text)
        if verb == "cat":
            return Reply(0, path.read_text("utf-8"))
        return Reply()

    def _machine_unit(self, verb: str, name: str) -> Reply:
        if name != "kubelet.service":
            return Reply(0, "active\n" if verb == "is-active" else "")
        if verb in {"is-active", "is-enabled"}:
            active = self._kubelet("is-active")
            return Reply(0 if active else 3, "active\n" if active else "inactive\n")
        self._kubelet(verb)
        return Reply()


def _service(name: str) -> str:
    return name if "." in name else f"{name}.service"


def kill_by_environment(entry: str, sign: signal.Signals = signal.SIGKILL) -> list[int]:
    """Signals every process that was started with this environment entry; returns their ids."""
    wanted, own = entry.encode(), os.getpid()
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 (hundreds of entries, often: as cheap as can be)
        if not name.isdigit() or int(name) == own:
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as environ:  # noqa: PTH123
                text = environ.read()
            if wanted not in text or wanted not in text.split(b"\0"):
                continue
            os.kill(int(name), sign)
        except OSError:
            continue  # ended meanwhile, or not ours to read
        found.append(int(name))
    return found
