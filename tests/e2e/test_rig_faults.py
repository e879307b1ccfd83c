"""The faults that other tests rely on are felt by the node."""

from __future__ import annotations

import socket
import time
from functools import partial

import pytest

from .cluster.cluster import Cluster
from .cluster.console import wait_until
from .cluster.filesystems import KUBERNETES, TOOL_STATE, small_filesystem
from .cluster.node import SCHEDULER_MANIFEST, Node
from .cluster.trials import Trial, try_manifests, under_name
from .cluster.workload import PodStream, fake_nodes

pytestmark = pytest.mark.full  # as the tests that need them are
PAUSE_POD = b"""\
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  namespace: kube-system
spec:
  hostNetwork: true
  containers:
  - name: c
    image: registry.k8s.io/pause:rig
"""


def test_cut_network_is_silent_and_comes_back(cluster: Cluster) -> None:
    node = cluster.nodes[len(cluster.nodes) // 2]
    node.cut_network()
    try:
        try:
            socket.create_connection((node.address, 22), timeout=2).close()
            reachable = True
        except OSError:
            reachable = False
        # The rig itself still sees inside.
        assert node.output("hostname") == node.name
    finally:
        node.restore_network()
    assert not reachable
    wait_until("ssh", lambda: node.ssh("true").returncode == 0, 30)
    cluster.wait_nodes()
    cluster.wait_schedulers()


def test_kubelet_and_containerd_stop_and_come_back(cluster: Cluster) -> None:
    node = cluster.nodes[-1]
    before = node.containers("kube-scheduler")
    for service in ("kubelet", "containerd"):
        node.kill(service)
        wait_until(f"{service} after a kill", partial(_active, node, service), 30)
        node.stop(service)
        assert not _active(node, service)
        node.start(service)
        node.restart(service)
        wait_until(service, partial(_active, node, service), 30)
    cluster.wait_nodes()
    # Containers outlive both, as on any node.
    wait_until("the same scheduler container", lambda: bool(node.containers("kube-scheduler")), 30)
    assert [c["id"] for c in node.containers("kube-scheduler")] == [c["id"] for c in before]


def _active(node: Node, service: str) -> bool:
    return node.run(f"systemctl is-active --quiet {service}", check=False).returncode == 0


def test_full_and_read_only_file_systems(cluster: Cluster) -> None:
    node = cluster.nodes[0]
    hash_before = node.containers("kube-scheduler")[0]["id"]
    for directory in (KUBERNETES, TOOL_STATE):
        with small_filesystem(node, directory) as filesystem:
            node.run(f"touch {directory}/probe")
            filesystem.fill()
            assert node.run(f"touch {directory}/another", check=False).returncode != 0
            assert (
                node.run(f"mv {directory}/probe {directory}/renamed", check=False).returncode == 0
            )
            filesystem.empty()
            filesystem.read_only()
            assert b"Read-only" in node.run(f"rm {directory}/renamed", check=False).stderr
            filesystem.writable()
            node.run(f"rm {directory}/renamed")
    # Other tests may have left the tool's own files there; an empty one is this test's.
    node.run(f"rmdir {TOOL_STATE}", check=False)
    cluster.wait_nodes()
    cluster.wait_schedulers()
    # Swapping the directory below the kubelet restarted nothing.
    assert node.containers("kube-scheduler")[0]["id"] == hash_before


def test_pods_stream_to_fake_nodes(cluster: Cluster) -> None:
    with fake_nodes(cluster.api, 3) as names:
        with PodStream(cluster.api, per_second=5) as stream:
            time.sleep(5)
        assert len(stream.placements()) >= 15
        assert {placement.node for placement in stream.placements()} <= set(names)
        assert stream.longest_wait() < 5
        assert stream.moved == []
        assert stream.refused == []


def test_kubelet_judges_manifests(cluster: Cluster) -> None:
    node = cluster.nodes[len(cluster.nodes) // 2]
    live = node.containers("kube-scheduler")
    trials = [
        Trial("trial-good", under_name(PAUSE_POD, "trial-good")),
        Trial("trial-typo", under_name(PAUSE_POD, "trial-typo") + b"    volumeMount: []\n"),
        Trial("trial-unparsable", b"apiVersion: v1\nkind: Pod\nmetadata: [\n"),
        Trial(
            "trial-mount",
            under_name(PAUSE_POD, "trial-mount")
            + b"    volumeMounts: [{name: nope, mountPath: /x}]\n",
        ),
        Trial(
            "trial-image", under_name(PAUSE_POD, "trial-image").replace(b"pause:rig", b"none:rig")
        ),
    ]
    good, typo, unparsable, mount, image = try_manifests(node, cluster.api, trials)
    assert good.running
    assert typo.running
    assert typo.pod is not None
    assert "volumeMount" not in typo.pod["spec"]["containers"][0]
    assert unparsable.refused
    assert "couldn't parse" in " ".join(unparsable.journal)
    assert mount.refused
    assert "volumeMounts" in " ".join(mount.journal)
    assert image.accepted
    assert not image.running
    assert image.journal
    assert node.run("ls /etc/kubernetes/manifests/trial-*", check=False).returncode != 0
    assert node.containers("kube-scheduler") == live
    assert node.run(f"test -s {SCHEDULER_MANIFEST}", check=False).returncode == 0
