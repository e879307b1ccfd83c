"""One node of a sandbox: its files, its simulated parts, and what can be done to it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kschedpatch.sandbox import unixsockets
from kschedpatch.sandbox.backoff import Backoff
from kschedpatch.sandbox.cluster import Cluster
from kschedpatch.sandbox.disks import Disks
from kschedpatch.sandbox.imagehabits import CANARY_POD, MAIN_POD
from kschedpatch.sandbox.journal import Journal
from kschedpatch.sandbox.kubelet import Kubelet
from kschedpatch.sandbox.podlife import NodeSide, PodSpec
from kschedpatch.sandbox.procfs import ProcFs
from kschedpatch.sandbox.record import Record
from kschedpatch.sandbox.requests import Reply, Request, RequestDoor
from kschedpatch.sandbox.runtime import Runtime
from kschedpatch.sandbox.signals import kill
from kschedpatch.sandbox.simulation import Simulation
from kschedpatch.sandbox.startup import Start, Surroundings, judge_start
from kschedpatch.sandbox.stubfiles import StubFiles
from kschedpatch.sandbox.systemd import Systemd, kill_by_environment
from kschedpatch.sandbox.tree import VERSIONS, plant, plant_tools, scheduler_image


class Live(NamedTuple):
    """A scheduler that runs on a node: the main one or the canary."""

    uid: str
    pid: int
    restarts: int
    ready: bool


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
        self._stubs = StubFiles(self.sim, minor)
        self.root.mkdir(parents=True, exist_ok=True)
        self.disks = Disks(self.root, wanted=breakable)
        plant(self.root, minor, address)
        plant_tools(self.root)
        self._stubs.say("speed", str(simulation.speed))
        self._stubs.say("name", name)
        self._stubs.say("version", f"v{VERSIONS[minor]}")
        self._stubs.say("clock", "0")
        self.set_machine("x86_64")
        self.sudo()
        self.journal = Journal(self.sim / "journal", self._tell)
        self._proc = ProcFs(self.root, self.sim)
        self.runtime = Runtime(self.root, self.sim, minor, self._proc)
        self.runtime.images.add(scheduler_image(minor))
        self.runtime.images.pullable = lambda: frozenset(cluster.registry)
        side = NodeSide(
            name, simulation, self.runtime, self.journal, cluster, Backoff(), self._judge,
            self.path, self.root / "var/log/pods", self._changed, self._tell, self._denied,
        )  # fmt: skip
        self._side = side
        self.kubelet = Kubelet(side, self._manifests, minor)
        self.systemd = Systemd(
            self.root, simulation, self.journal, self.environment, self._kubelet_verb
        )
        self._door = RequestDoor(simulation, self.sim, self._answer)
        self._reached: set[tuple[str, int]] = set()
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
        return self._live(MAIN_POD)

    def live_canary(self) -> Live | None:
        """The same of the canary beside it."""
        return self._live(CANARY_POD)

    def _live(self, pod: str) -> Live | None:
        with self._simulation.lock:
            run = self.kubelet.run_of(pod)
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
            self._proc.boot()
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
            self._proc.end_all()
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
        self._stubs.say("clock", str(delta))

    def sudo(self, mode: str = "root", password: str = "", lecture: str = "") -> None:
        """root: logged in as root; free: sudo asks nothing; asks: sudo wants the password."""
        self._stubs.sudo(mode, password, lecture)

    def set_machine(self, machine: str) -> None:
        """What `uname -m` says."""
        self._stubs.say("machine", machine)

    def set_memory(self, available_kib: int) -> None:
        """What /proc/meminfo says is available, of 8,000,000 KiB."""
        with self._simulation.lock:
            self._proc.set_memory(available_kib)

    def occupy_port(self, port: int) -> Callable[[], None]:
        """Some other program listens there until the returned function is called."""
        with self._simulation.lock:
            self._proc.others[port] = "127.0.0.1"
            self._changed()

        def free() -> None:
            with self._simulation.lock:
                self._proc.others.pop(port, None)
                self._changed()

        return free

    def reaches(self, address: str, port: int, *, on: bool = True) -> None:
        """Somebody outside of the node takes connections there, and knows no page."""
        with self._simulation.lock:
            self._reached.add((address, port)) if on else self._reached.discard((address, port))
            self._changed()

    def add_image(self, image: str) -> None:
        with self._simulation.lock:
            self.runtime.images.add(image)

    def remove_image(self, image: str) -> None:
        with self._simulation.lock:
            self.runtime.images.discard(image)

    def kubeadm_at_work(self, *words: str) -> Callable[[], None]:
        """kubeadm upgrade apply runs on the node until the returned function is called."""
        pid = self._proc.start_other(["kubeadm", *(words or ("upgrade", "apply"))])
        return lambda: self._proc.end(pid)

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
        around = Surroundings(
            path=self.path,
            minor=self.minor,
            images=frozenset(self.runtime.images),
            pullable=self.runtime.images.pullable(),
            taken_ports=self.kubelet.declared_ports(spec),
            used_ports=self.kubelet.used_ports(spec) | self._proc.others.keys(),
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
        """Something serves, or no longer: the record, /proc and what curl answers follow."""
        serving = [process for process in self.kubelet.processes() if process.is_serving]
        api = self.is_on and self._cluster.api_answers()
        self._stubs.serving(serving, self._reached, api=api)
        self._proc.listen(process.address for process in serving)
        live, canary = self.live(), self.live_canary()
        self._record.ready(
            self.name, bool(live and live.ready), is_canary_ready=bool(canary and canary.ready)
        )
        self._cluster.mirror(self.name, self.kubelet.run_of(MAIN_POD))

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
        if request.tool == "kill":
            return kill(request.arguments, self.kubelet.processes(), self._proc)
        if request.tool == "curl":
            return lambda: unixsockets.get(*request.arguments)
        if request.tool == "kubectl":
            return self._cluster.kubectl(request.arguments, request.stdin)
        return Reply(127, "", f"{request.tool}: not found\n")
