"""Brings up the whole cluster: its control-plane nodes and the gate."""

from __future__ import annotations

import json
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import kubeadm, network
from .access import Access
from .api import Api, Object
from .build import build
from .console import RigError, say, wait_until
from .gate import Gate
from .images import cluster_archive
from .limits import raise_limits
from .node import Node
from .packages import install_missing
from .rootfs import base_tree
from .settings import NODE_NAMES, STATE
from .teardown import take_down
from .versions import KubernetesVersion, kubernetes_version

_RECORD = STATE / "cluster.json"
_KUBECONFIG = STATE / "admin.conf"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"


@dataclass
class Cluster:
    version: KubernetesVersion
    gate: Gate
    nodes: tuple[Node, ...]
    access: Access
    api: Api
    base_tree: Path

    def node(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)

    @property
    def kubeconfig(self) -> Path:
        return _KUBECONFIG

    def lease(self) -> Object:
        return self.api.get(LEASE)

    def lease_holder(self) -> str:
        """The name of the node whose scheduler leads; empty when none does."""
        holder = self.lease()["spec"].get("holderIdentity") or ""
        return str(holder).rpartition("_")[0]

    def wait_schedulers(self, timeout: float = 120) -> None:
        def all_ready() -> bool:
            late = [node.name for node in self.nodes if not node.scheduler_ready()]
            if late:
                raise RigError(f"not ready on {', '.join(late)}")
            return True

        wait_until("ready schedulers on all nodes", all_ready, timeout)
        wait_until("a holder of the scheduler's lease", lambda: bool(self.lease_holder()), timeout)

    def wait_nodes(self, timeout: float = 120) -> None:
        def all_ready() -> bool:
            items = {
                item["metadata"]["name"]: item for item in self.api.get("/api/v1/nodes")["items"]
            }
            late = [node.name for node in self.nodes if not _is_ready(items.get(node.name, {}))]
            if late:
                raise RigError(f"not Ready: {', '.join(late)}")
            return True

        wait_until("nodes that are Ready", all_ready, timeout)

    def wait_dns(self, timeout: float = 120) -> None:
        def available() -> bool:
            found = self.api.get("/apis/apps/v1/namespaces/kube-system/deployments/coredns")
            status, wanted = found.get("status", {}), found["spec"]["replicas"]
            current = status.get("observedGeneration") == found["metadata"]["generation"]
            counts = [
                status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")
            ]
            return current and counts == [wanted] * 3

        wait_until("CoreDNS", available, timeout)


def bring_up(minor: str, nodes: int, *, run: str, keep: bool, attempts: int = 2) -> Cluster:
    """Boot a cluster of so many nodes; only this may be tried twice, never a test.

    `run` names it for the reaper. `keep` is for people who want to look: a
    later run does not take such a cluster down by itself.
    """
    version = kubernetes_version(minor)
    install_missing()
    with ThreadPoolExecutor() as pool:
        tree = pool.submit(base_tree)
        binaries = build(version)
        base = tree.result()
    archive = cluster_archive(version, binaries, base)
    take_down()
    for attempt in range(1, attempts + 1):
        try:
            STATE.mkdir(mode=0o700, parents=True)
            record = {"minor": minor, "nodes": nodes, "keep": keep, "run": run, "base": str(base)}
            _RECORD.write_text(json.dumps(record))
            members = tuple(Node(name, version, binaries, archive) for name in NODE_NAMES[:nodes])
            return _boot(version, Gate(binaries), members, base)
        except RigError as error:
            say(f"bring-up failed ({attempt} of {attempts}): {error}")
            if attempt == attempts:
                raise
            take_down()
    raise AssertionError("unreachable")


def refuse_beside_kept() -> None:
    """Asked before anything is begun: whoever fails later takes down all that there is."""
    if _RECORD.exists() and json.loads(_RECORD.read_text())["keep"]:
        raise RigError("a kept cluster is up; end it with: make cluster-down")


def attach() -> Cluster:
    """The cluster that is up, brought up by another process."""
    try:
        record = json.loads(_RECORD.read_text())
    except FileNotFoundError:
        raise RigError("no cluster is up; start one with: make cluster-up") from None
    version = kubernetes_version(record["minor"])
    # Built already: this only finds the files again, for nodes that are rebooted.
    binaries = build(version)
    base = Path(record["base"])
    archive = cluster_archive(version, binaries, base)
    names = NODE_NAMES[: record["nodes"]]
    nodes = tuple(Node(name, version, binaries, archive) for name in names)
    return Cluster(version, Gate(binaries), nodes, Access(STATE / "access"), Api(_KUBECONFIG), base)


def current_run() -> str | None:
    """The id of the run whose cluster is up."""
    try:
        return str(json.loads(_RECORD.read_text())["run"])
    except FileNotFoundError:
        return None


def _boot(version: KubernetesVersion, gate: Gate, nodes: tuple[Node, ...], base: Path) -> Cluster:
    started = time.monotonic()
    say(f"booting Kubernetes {version.release} on {', '.join(node.name for node in nodes)}")
    access = Access(STATE / "access")
    access.create()
    raise_limits()
    network.create_bridge()

    machines: list[Gate | Node] = [nodes[0], gate, *nodes[1:]]

    def prepare(machine: Gate | Node) -> None:
        machine.create(base)
        machine.boot()
        machine.wait_booted()
        if isinstance(machine, Node):
            machine.import_images()
        say(f"{machine.name}: booted")

    with ThreadPoolExecutor() as pool:
        ready: dict[str, Future[None]] = {m.name: pool.submit(prepare, m) for m in machines}
        first = nodes[0]
        for name in (first.name, gate.name):
            ready[name].result()
        kubeadm.init(first, version)
        _KUBECONFIG.touch(mode=0o600)
        _KUBECONFIG.write_bytes(first.read("/etc/kubernetes/admin.conf"))
        say(f"{first.name}: kubeadm init done")
        # One after the other: etcd takes one new member at a time.
        for node in nodes[1:]:
            ready[node.name].result()
            kubeadm.join(node, version)
            say(f"{node.name}: joined")
    cluster = Cluster(version, gate, nodes, access, Api(_KUBECONFIG), base)
    cluster.wait_nodes()
    _spread_dns(cluster.api)
    cluster.wait_schedulers()
    cluster.wait_dns()
    say(f"cluster of {version.release} up in {time.monotonic() - started:.1f} s")
    return cluster


def _spread_dns(api: Api) -> None:
    """Both replicas were placed while there was one node; its reboot would take DNS away."""
    stamp = {
        "metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": str(int(time.time()))}}
    }
    api.patch(
        "/apis/apps/v1/namespaces/kube-system/deployments/coredns", {"spec": {"template": stamp}}
    )


def _is_ready(node: Object) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
