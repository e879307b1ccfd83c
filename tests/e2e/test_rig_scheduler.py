"""The rig's schedulers behave as on a real control plane, because it is one."""

from __future__ import annotations

import time

import pytest

from .cluster.cluster import Cluster
from .cluster.console import wait_until
from .cluster.node import SCHEDULER_MANIFEST
from .cluster.sampler import Sampler


def test_all_schedulers_are_ready_and_one_leads(cluster: Cluster) -> None:
    names = [node.name for node in cluster.nodes]
    assert [node.name for node in cluster.nodes if node.scheduler_ready()] == names
    assert cluster.lease_holder() in names
    renewed = cluster.lease()["spec"]["renewTime"]
    wait_until("a renewal of the lease", lambda: cluster.lease()["spec"]["renewTime"] != renewed, 5)
    for node in cluster.nodes:
        pod = cluster.api.get(f"/api/v1/namespaces/kube-system/pods/kube-scheduler-{node.name}")
        image = pod["spec"]["containers"][0]["image"]
        assert image == f"registry.k8s.io/kube-scheduler:v{cluster.version.release}"


def test_invalid_manifest_takes_the_scheduler_away_and_the_old_one_heals(cluster: Cluster) -> None:
    node = cluster.nodes[len(cluster.nodes) // 2]
    manifest = node.read(SCHEDULER_MANIFEST)
    cursor = node.journal_cursor()
    node.put_manifest(b"apiVersion: v1\nkind: Pod\nmetadata: [\n")
    started = time.monotonic()
    wait_until("the end of the scheduler", lambda: not node.scheduler_ready(), 30)
    vanished = time.monotonic() - started
    node.put_manifest(manifest)
    wait_until("the scheduler", node.scheduler_ready, 60)
    assert vanished < 25
    assert node.journal("kubelet", cursor, grep=SCHEDULER_MANIFEST)


@pytest.mark.three_nodes
def test_lease_moves_when_the_leader_goes(cluster: Cluster) -> None:
    cluster.wait_schedulers()
    leader = cluster.node(cluster.lease_holder())
    aside = SCHEDULER_MANIFEST.replace("kube-scheduler", ".rig-kube-scheduler")
    with Sampler(cluster) as sampler:
        time.sleep(1)
        leader.run(f"mv {SCHEDULER_MANIFEST} {aside}")
        try:
            wait_until(
                "another leader",
                lambda: cluster.lease_holder() not in ("", leader.name),
                30,
            )
            time.sleep(1)
        finally:
            leader.run(f"mv {aside} {SCHEDULER_MANIFEST}")
        wait_until("the scheduler", leader.scheduler_ready, 60)
        time.sleep(0.5)
    record = sampler.record
    assert len(record.holders()) == 2
    # Released on SIGTERM, a standby polls every few seconds; a dead holder's lease would cost 15 s.
    assert 0 < record.outage() < 17
    gaps = record.unready(leader.name)
    assert max(end - start for start, end in gaps) > 1, gaps
    others = [node.name for node in cluster.nodes if node is not leader]
    assert [record.unready(name) for name in others] == [[], []]


@pytest.mark.three_nodes
def test_reboot_heals(cluster: Cluster) -> None:
    node = cluster.nodes[-1]
    cluster.wait_schedulers()
    node.run("touch /run/before-the-reboot")
    with Sampler(cluster) as sampler:
        node.reboot()
        assert node.run("test -e /run/before-the-reboot", check=False).returncode != 0
        wait_until("the rebooted node's scheduler", node.scheduler_ready, 120)
        time.sleep(0.5)
    record = sampler.record
    cluster.wait_nodes()
    cluster.wait_schedulers()
    # Behind the balancer the API outlives any one node, for all but a moment.
    unanswered = sum(sample.holder is None for sample in record.samples)
    assert unanswered < len(record.samples) / 4
