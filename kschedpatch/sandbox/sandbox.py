"""A sandbox: throwaway control-plane nodes that share a simulated API server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from kschedpatch.sandbox.apiserver import ApiServer
from kschedpatch.sandbox.election import LeaderElection
from kschedpatch.sandbox.imagehabits import CANARY_POD
from kschedpatch.sandbox.kubectl import Kubectl
from kschedpatch.sandbox.node import SandboxNode
from kschedpatch.sandbox.podlife import PodRun
from kschedpatch.sandbox.process import SchedulerProcess
from kschedpatch.sandbox.record import Event, Record
from kschedpatch.sandbox.requests import Reply
from kschedpatch.sandbox.scheduling import Scheduling
from kschedpatch.sandbox.secondschedulers import SecondSchedulers
from kschedpatch.sandbox.simulation import Simulation
from kschedpatch.sandbox.workloads import Workloads


class Sandbox:
    def __init__(
        self,
        directory: Path,
        nodes: int = 3,
        minor: int = 34,
        speed: int = 10,
        *,
        seed: int = 0,
        breakable_disks: bool = False,
    ) -> None:
        self.simulation = Simulation(speed, seed)
        self.record = Record(self.simulation.moment)
        self.api = ApiServer()
        self.registry: set[str] = set()
        """Images that nodes can pull."""
        self.election = LeaderElection(self.simulation, self.api, self._leads)
        self._kubectl = Kubectl(self.api)
        self._kubectl.version = f"v1.{minor}.2"
        for name in ("default", "kube-system", "kube-public"):
            self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.seconds = SecondSchedulers(self.api, minor)
        self.workloads = Workloads(self.simulation, self.api, self.seconds, self._kubectl.logs)
        self._scheduling = Scheduling(self.simulation, self.api, self.election, self.seconds)
        self.nodes = tuple(
            SandboxNode(
                directory / f"cp{number}",
                f"cp{number}",
                f"10.0.0.{10 + number}",
                minor,
                self.simulation,
                self.record,
                self,
                breakable=breakable_disks,
            )
            for number in range(1, nodes + 1)
        )
        for node in self.nodes:
            self.api.create(_node_object(node))
        self.simulation.start()

    @property
    def events(self) -> list[Event]:
        return self.record.events

    def __enter__(self) -> Sandbox:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if kind is None and self.simulation.failures:
            raise RuntimeError("the sandbox itself failed:\n" + "\n".join(self.simulation.failures))

    def start(self) -> None:
        """All nodes on, their schedulers ready, one of them leading."""
        for node in self.nodes:
            node.power_on()
        for node in self.nodes:
            node.wait_ready()
        self.nodes[0].wait(lambda: self.election.leader() is not None)

    def close(self) -> None:
        for node in self.nodes:
            node.close()
        self.simulation.end()

    def node(self, name: str) -> SandboxNode:
        return next(node for node in self.nodes if node.name == name)

    def leader(self) -> SandboxNode | None:
        """The node one of whose live schedulers holds the lease, be it the canary."""
        with self.simulation.lock:
            process = self.election.leader()
        return self.node(process.node) if process else None

    def api_down(self) -> None:
        self._set_api(False)

    def api_up(self) -> None:
        self._set_api(True)

    def _set_api(self, is_up: bool) -> None:
        with self.simulation.lock:
            self.api.is_up = is_up
            for node in self.nodes:
                node.api_changed()

    def _leads(self, process: SchedulerProcess | None) -> None:
        node = process.node if process else ""
        is_canary = process is not None and process.pod == CANARY_POD
        self.record.leader(node, is_canary=is_canary)

    # What the nodes ask (node.Cluster)

    def api_answers(self) -> bool:
        return self.api.is_up

    def role_exists(self, name: str) -> bool:
        return self.api.find("ClusterRole", name) is not None

    def joins(self, process: SchedulerProcess) -> None:
        self.election.joins(process)

    def leaves(self, process: SchedulerProcess, *, released: bool) -> None:
        self.election.leaves(process, released=released)

    def kubectl(self, arguments: tuple[str, ...], stdin: bytes) -> Reply:
        return self._kubectl.run(arguments, stdin)

    def warn(self, namespace: str, pod: str, uid: str, reason: str, message: str) -> None:
        """An event of a kubelet; the same one again only changes its time."""
        if not self.api.is_up:
            return
        event = {
            "kind": "Event",
            "metadata": {"name": f"{pod}.{uid[:8]}.{reason.lower()}", "namespace": namespace},
            "involvedObject": {"kind": "Pod", "name": pod, "namespace": namespace, "uid": uid},
            "type": "Warning",
            "reason": reason,
            "message": message,
            "lastTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        self.api.apply(event)

    def mirror(self, node: str, run: PodRun | None) -> None:
        """The mirror pod: what the API shows of a static one, with its hash."""
        if not self.api.is_up:
            return
        name = f"kube-scheduler-{node}"
        if run is None:
            if self.api.find("Pod", name, "kube-system") is not None:
                self.api.delete("Pod", name, "kube-system")
            return
        process = run.process
        ready = bool(process and process.is_ready)
        pod: dict[str, Any] = dict(run.spec.pod)
        annotations = dict(pod["metadata"].get("annotations") or {})
        annotations |= {
            "kubernetes.io/config.hash": run.spec.uid,
            "kubernetes.io/config.mirror": run.spec.uid,
            "kubernetes.io/config.source": "file",
        }
        pod["metadata"] = {**pod["metadata"], "name": name, "annotations": annotations}
        pod["spec"] = {**pod["spec"], "nodeName": node}
        status = "True" if ready else "False"
        pod["status"] = {
            "phase": "Running" if process else "Pending",
            "conditions": [{"type": "Ready", "status": status}],
        }
        self.api.apply(pod)


def _node_object(node: SandboxNode) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": node.name, "node-role.kubernetes.io/control-plane": ""}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": labels},
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": node.address},
                {"type": "Hostname", "address": node.name},
            ],
            "conditions": [{"type": "Ready", "status": "True"}],
            "capacity": {"cpu": "4", "memory": "8000000Ki", "pods": "110"},
            "allocatable": {"cpu": "4", "memory": "8000000Ki", "pods": "110"},
            "nodeInfo": {
                "kubeletVersion": (node.sim / "version").read_text().strip(),
                "machineID": node.path("/etc/machine-id").read_text().strip(),
            },
        },
    }
