"""Each way in which a new scheduler can fail on a real kubelet: recognised by its own sign, named,
and every node healthy on the old revision again."""

from __future__ import annotations

import threading
import time

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.rollout import FailureReason, NodeOutcome

from .cluster.cluster import Cluster
from .cluster.console import say
from .cluster.node import Node
from .forced import SETTINGS, Mutation, forced
from .tool import standing, traces


def flag(text: str) -> Mutation:
    return lambda manifest: manifest.replace(
        "    - --leader-elect=true", f"    - --leader-elect=true\n    - {text}"
    )


def mounted(host: str, kind: str) -> Mutation:
    def mutate(manifest: str) -> str:
        manifest = manifest.replace(
            "    volumeMounts:\n",
            f"    volumeMounts:\n    - mountPath: {host}\n      name: extra\n",
        )
        volume = (
            f"  volumes:\n  - hostPath:\n      path: {host}\n      type: {kind}\n    name: extra\n"
        )
        return manifest.replace("  volumes:\n", volume)

    return mutate


def without_volume(manifest: str) -> str:
    return manifest.replace(
        "      name: kubeconfig\n      readOnly", "      name: nobody\n      readOnly"
    )


def other_image(manifest: str) -> str:
    return manifest.replace("kube-scheduler:v", "kube-scheduler-nowhere:v")


def without_rights(manifest: str) -> str:
    """The kubelet's own identity: it may not list what a scheduler must."""
    manifest = manifest.replace(
        "--kubeconfig=/etc/kubernetes/scheduler.conf", "--kubeconfig=/etc/kubernetes/kubelet.conf"
    )
    return mounted("/var/lib/kubelet/pki", "Directory")(
        mounted("/etc/kubernetes/kubelet.conf", "File")(manifest).replace(
            "name: extra", "name: kubelet-conf"
        )
    )


CASES = {
    "bad flag": (flag("--bogus=1"), FailureReason.CRASH, "unknown flag: --bogus"),
    "no such config": (flag("--config=/nowhere.yaml"), FailureReason.CRASH, "/nowhere.yaml"),
    "missing image": (other_image, FailureReason.IMAGE, "kube-scheduler-nowhere"),
    "missing hostPath": (mounted("/nowhere", "Directory"), FailureReason.MOUNT, "/nowhere"),
    "unparsable": (lambda text: text + "\n}", FailureReason.REFUSED, "kube-scheduler.yaml"),
    "refused": (without_volume, FailureReason.REFUSED, "kube-scheduler.yaml"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_failure_is_named_and_undone(cluster: Cluster, name: str) -> None:
    mutate, reason, words = CASES[name]
    cluster.wait_schedulers()
    node = cluster.nodes[0]
    before = standing(node)
    result = forced(cluster, mutate, node.name)
    assert result.failure is not None
    assert (result.failure.reason, words in result.failure.detail) == (reason, True), result.failure
    assert result.exit_code == exitcodes.ROLLED_BACK
    [one] = result.nodes
    assert one.outcome is NodeOutcome.RESTORED
    say(f"{name}: back after {one.seconds_to_restored:.1f} s")
    _as_before(node, before.manifest, before.uid)


def test_a_crash_after_the_start(cluster: Cluster) -> None:
    node = cluster.nodes[1]
    before = standing(node)
    killer = threading.Thread(target=_kill_when_ready, args=(node, before.uid))
    killer.start()
    result = forced(cluster, flag("--v=3"), node.name, settings=SETTINGS._replace(settle=15))
    killer.join()
    assert result.failure is not None
    assert result.failure.reason is FailureReason.CRASH
    assert result.exit_code == exitcodes.ROLLED_BACK
    _as_before(node, before.manifest, before.uid)


def _kill_when_ready(node: Node, old: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = [
            c
            for c in node.containers("kube-scheduler")
            if c["labels"]["io.kubernetes.pod.uid"] != old
        ]
        if found and node.scheduler_ready():
            time.sleep(1)
            node.run(f"ctr -n k8s.io tasks kill -s KILL {found[0]['id']}")
            return
        time.sleep(0.3)


def test_missing_rights_are_noticed(cluster: Cluster) -> None:
    node = cluster.nodes[0]
    before = standing(node)
    result = forced(
        cluster, without_rights, node.name, settings=SETTINGS._replace(watch_timeout=15)
    )
    assert result.failure is not None
    assert result.failure.reason is FailureReason.NOT_READY, result.failure
    assert result.exit_code == exitcodes.ROLLED_BACK
    _as_before(node, before.manifest, before.uid)


def test_a_failure_on_the_second_node_takes_the_first_back(cluster: Cluster) -> None:
    before = {node.name: standing(node) for node in cluster.nodes}
    names = iter(("good", "bad", "never"))

    def mutate(text: str) -> str:
        return flag("--v=3" if next(names) == "good" else "--bogus=1")(text)

    result = forced(cluster, mutate, *(node.name for node in cluster.nodes))
    assert result.exit_code == exitcodes.ROLLED_BACK
    outcomes = [one.outcome for one in result.nodes]
    assert outcomes == [NodeOutcome.RESTORED, NodeOutcome.RESTORED, NodeOutcome.UNCHANGED]
    for node in cluster.nodes:
        _as_before(node, before[node.name].manifest, before[node.name].uid)
    # The third was never touched: the very same container.
    assert standing(cluster.nodes[2]) == before[cluster.nodes[2].name]


def _as_before(node: Node, manifest: bytes, uid: str) -> None:
    now = standing(node)
    assert (now.manifest, now.uid) == (manifest, uid)
    assert node.scheduler_ready()
    assert traces(node) == []
