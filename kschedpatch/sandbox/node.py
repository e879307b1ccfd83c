"""One node of a sandbox: its files, its simulated parts, and what can be done to it."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from kschedpatch.sandbox.backoff import Backoff
from kschedpatch.sandbox.disks import Disks
from kschedpatch.sandbox.journal import Journal
from kschedpatch.sandbox.kubelet import Kubelet
from kschedpatch.sandbox.podlife import NodeSide, PodRun, PodSpec
from kschedpatch.sandbox.process import World
from kschedpatch.sandbox.record import Record
from kschedpatch.sandbox.requests import Reply, Request, RequestDoor
from kschedpatch.sandbox.runtime import Runtime
from kschedpatch.sandbox.simulation import Simulation
from kschedpatch.sandbox.startup import Start, Surroundings, declared_ports, judge_start
from kschedpatch.sandbox.systemd import Systemd, kill_by_environment
from kschedpatch.sandbox.tree import VERSIONS, plant, plant_tools, scheduler_image


class Live(NamedTuple):
    """The scheduler that runs on a node."""

    uid: str
    pid: int
    restarts: int
    ready: bool


class Cluster(World, Protocol):
    """What the nodes of a sandbox share."""

    @property
    def registry(self) -> set[str]: ...
    def kubectl(self, arguments: tuple[str, ...], stdin: bytes) -> Reply: ...
    def mirror(self, node: str, run: PodRun | None) -> None: ...
    def warn(self, namespace: str, pod: str, uid: str, reason: str, message: str) -> None: ...


class SandboxNode:
    def __init__(
        self,
        directory: Path,
        name: str,
        address: str,
        minor: int,
        simulation: Simulation,
        record: Record,
        cluster: Cluster,
        *,
        breakable: bool = False,
    ) -> None:
        self.name = name
        self.address = address
        self.minor = minor
        self.root = directory.resolve() / "root"
        self.sim = directory.resolve() / "sim"
        self.is_on = False
        self.on_power_off: list[Callable[[], None]] = []
        """Called when the node loses power: SSH servers drop their connections here."""
        self._simulation = simulation
        self._record = record
        self._cluster = cluster
        self._booted = 0.0
        self.sim.mkdir(parents=True, exist_ok=True)
        self.root.mkdir(parents=True, exist_ok=True)
        self.disks = Disks(self.root, wanted=breakable)
        plant(self.root, minor, address)
        plant_tools(self.root)
        self._say("speed", str(simulation.speed))
        self._say("name", name)
        self._say("version", f"v{VERSIONS[minor]}")
        self._say("clock", "0")
        self.sudo()
        self.journal = Journal(self.sim / "journal", self._tell)
        self.runtime = Runtime(self.root, self.sim, minor)
        self.runtime.images.add(scheduler_image(minor))
        self.runtime.pullable = lambda: frozenset(cluster.registry)
        side = NodeSide(
            name, simulation, self.runtime, self.journal, cluster, Backoff(), self._judge,
            self.root / "var/log/pods", self._changed, self._tell, self._denied,
        )  # fmt: skip
        self._side = side
        self.kubelet = Kubelet(side, self._manifests, minor)
        self.systemd = Systemd(
            self.root, simulation, self.journal, self.environment, self._kubelet_verb
        )
        self._door = RequestDoor(simulation, self.sim, self._answer)
        self._uptime = -1
        self._stop_uptime = simulation.every(0.2, self._tick_uptime)

    # What tests and transports ask

    def environment(self) -> dict[str, str]:
        """For processes that run «on» the node: by sshd's SetEnv, or by a local transport."""
        path = os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        return {"KSCHEDPATCH_ROOT": str(self.root), "PATH": f"{self.root}/bin:{path}"}

    def path(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    @property
    def manifest(self) -> Path:
        return self._manifests() / "kube-scheduler.yaml"

    def manifest_bytes(self) -> bytes | None:
        return self.manifest.read_bytes() if self.manifest.exists() else None

    def live(self) -> Live | None:
        """The scheduler's process and its pod; None where there is no process."""
        with self._simulation.lock:
            slot = self.kubelet.slots.get("kube-system/kube-scheduler")
            run = slot.run if slot else None
            process = run.process if run else None
            if run is None or process is None or not process.is_alive:
                return None
            attempt = process.container.attempt
            return Live(run.spec.uid, process.pid, attempt, process.is_ready)

    def wait(self, condition: Callable[[], bool], seconds: float = 60) -> bool:
        """Waits, in simulated seconds, until something holds."""
        end = self._simulation.now() + seconds
        while not condition():
            if self._simulation.now() > end:
                return False
            time.sleep(0.005)
        return True

    def wait_ready(self, seconds: float = 60) -> bool:
        return self.wait(lambda: bool((live := self.live()) and live.ready), seconds)

    # What can happen to a node

    def power_on(self) -> None:
        """Boots: enabled units that stand before the kubelet first, to the end of their start."""
        with self._simulation.lock:
            self.is_on = True
            self._booted = self._simulation.now()
            run = self.root / "run"
            shutil.rmtree(run, ignore_errors=True)
            (run / "systemd/system").mkdir(parents=True)
            boot_id = self.root / "proc/sys/kernel/random/boot_id"
            boot_id.write_text(f"{uuid.uuid4()}\n")
            self._uptime = os.open(self.root / "proc/uptime", os.O_RDWR | os.O_CREAT, 0o644)
            self._tick_uptime()
            self._changed()
            self._tell("booted")
        self.systemd.boot()

    def power_off(self) -> None:
        with self._simulation.lock:
            if not self.is_on:
                return
            self.is_on = False
            self._tell("power off")
            self.kubelet.lose_power()
            self._side = self._side._replace(backoff=Backoff())
            self.kubelet = Kubelet(self._side, self._manifests, self.minor)
            os.close(self._uptime)
            self._uptime = -1
        for dropped in self.on_power_off:
            dropped()
        self.systemd.lose_power()
        while kill_by_environment(f"KSCHEDPATCH_ROOT={self.root}"):
            time.sleep(0.005)
        self.disks.drop_foreign_mounts()
        with self._simulation.lock:
            for directory in (self.root / "proc").glob("[0-9]*"):
                shutil.rmtree(directory, ignore_errors=True)
            for entry in (self.root / "run").iterdir():
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            self._changed()

    def reboot(self, off_seconds: float = 5.0) -> None:
        self.power_off()
        self._simulation.sleep(off_seconds)
        self.power_on()

    def stop_kubelet(self) -> None:
        self._kubelet_verb("stop")

    def start_kubelet(self) -> None:
        self._kubelet_verb("start")

    def restart_kubelet(self) -> None:
        self._kubelet_verb("restart")

    def set_clock(self, delta: int) -> None:
        """The wall clock is off by so many seconds from now on (what ``date`` says)."""
        self._say("clock", str(delta))

    def sudo(self, mode: str = "root", password: str = "", lecture: str = "") -> None:
        """root: logged in as root; free: sudo asks nothing; asks: sudo wants the password."""
        self._say("sudo", f"{mode} {password}".strip())
        self._say("lecture", lecture) if lecture else (self.sim / "lecture").unlink(True)

    def add_image(self, image: str) -> None:
        with self._simulation.lock:
            self.runtime.images.add(image)

    def remove_image(self, image: str) -> None:
        with self._simulation.lock:
            self.runtime.images.discard(image)

    def kubeadm_at_work(self, *words: str) -> Callable[[], None]:
        """kubeadm upgrade apply runs on the node until the returned function is called."""
        pid = self.runtime.fake_process(["kubeadm", *(words or ("upgrade", "apply"))])
        return lambda: self.runtime.end_process(pid)

    @property
    def can_break_disks(self) -> bool:
        return self.disks.are_mounted

    def fill_disk(self) -> Callable[[], None]:
        return self.disks.fill()

    def read_only(self, on: bool) -> None:
        self.disks.read_only(on)

    def close(self) -> None:
        self.power_off()
        self._stop_uptime()
        self._door.close()
        self.disks.close()

    # The inner side

    def _manifests(self) -> Path:
        return self.root / "etc/kubernetes/manifests"

    def _say(self, name: str, text: str) -> None:
        fresh = self.sim / f"{name}.new"
        fresh.write_text(text + "\n", "utf-8")
        fresh.rename(self.sim / name)

    def _tell(self, text: str) -> None:
        self._record.tell(self.name, text)

    def _tick_uptime(self) -> None:
        if self._uptime >= 0:
            up = self._simulation.now() - self._booted
            # Always as long: one write replaces all of it, and no reader sees a half.
            os.pwrite(self._uptime, f"{up:.2f} {up:.2f}".ljust(39).encode() + b"\n", 0)

    def _kubelet_verb(self, verb: str) -> bool:
        with self._simulation.lock:
            if verb in {"stop", "restart"}:
                self.kubelet.stop()
            if verb in {"start", "restart"} and self.is_on:
                self.kubelet.start()
            return self.kubelet.is_running

    def _judge(self, spec: PodSpec) -> Start:
        others = [s.run for s in self.kubelet.slots.values() if s.run is not None]
        taken = {
            port
            for run in others
            if run.spec.name != spec.name
            for port in declared_ports(run.spec.pod)
        }
        used = {6443, 10257} | {
            p.address[1] for p in self.kubelet.processes() if p.container.uid != spec.uid
        }
        around = Surroundings(
            path=self.path,
            minor=self.minor,
            images=frozenset(self.runtime.images),
            pullable=self.runtime.pullable(),
            taken_ports=frozenset(taken),
            used_ports=frozenset(used),
            labels={"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux"},
        )
        return judge_start(spec.pod, around)

    def _denied(self, spec: PodSpec, found: Start) -> None:
        """An event always; a line in the kubelet's journal only from 1.31 on."""
        pod = f"{spec.name}-{self.name}"
        if self.minor >= 31:
            self.journal.denied(f"{spec.namespace}/{pod}", spec.uid, found.reason, found.detail)
        self._cluster.warn(spec.namespace, pod, spec.uid, found.reason, found.detail)

    def _changed(self) -> None:
        """Something serves, or no longer: the record and what curl answers follow."""
        lines = []
        for process in self.kubelet.processes():
            if not process.is_serving:
                continue
            host, port = process.address
            codes = {"/healthz": 200}
            if self.minor >= 31:
                codes |= {"/livez": 200, "/readyz": 200 if process.is_ready else 500}
            words = " ".join(f"{path}={code}" for path, code in codes.items())
            lines.append(f"{host} {port} {words}")
        if self.is_on and self._cluster.api_answers():
            lines.append("0.0.0.0 6443 /healthz=200 /livez=200 /readyz=200")
        self._say("serving", "\n".join(lines) if lines else "- 0")
        live = self.live()
        self._record.ready(self.name, bool(live and live.ready))
        slot = self.kubelet.slots.get("kube-system/kube-scheduler")
        self._cluster.mirror(self.name, slot.run if slot else None)

    def api_changed(self) -> None:
        with self._simulation.lock:
            self._changed()

    def _answer(self, request: Request) -> Reply | Callable[[], Reply]:
        if request.tool == "systemctl":
            return lambda: self.systemd.systemctl(request.arguments)
        if request.tool == "crictl":
            return self.runtime.crictl(request.arguments, request.stdin)
        if request.tool == "ctr":
            return self.runtime.ctr(request.arguments)
        if request.tool == "kubectl":
            return self._cluster.kubectl(request.arguments, request.stdin)
        return Reply(127, "", f"{request.tool}: not found\n")
