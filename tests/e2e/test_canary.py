"""What the proofs before the switch can't find, and what the canary is for, on real nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedpatch.model import exitcodes

from .cluster.build import build_scheduler
from .cluster.cluster import Cluster
from .cluster.console import wait_until
from .cluster.node import SCHEDULER_MANIFEST
from .cluster.workload import PodStream, fake_nodes
from .tool import access, kschedpatch, patch_file, traces

BREAKS_ON_FIRST_POD = """
scheduler: {{binary: {binary}}}
config:
  inline:
    profiles:
    - schedulerName: default-scheduler
      plugins: {{preFilter: {{enabled: [{{name: BreaksOnFirstPod}}]}}}}
"""


@pytest.fixture(autouse=True)
def _as_it_was(cluster: Cluster) -> Iterator[None]:
    """Each test begins and ends with kubeadm's own manifests, whatever it did."""
    cluster.wait_schedulers()
    before = {node.name: node.read(SCHEDULER_MANIFEST) for node in cluster.nodes}
    yield
    for node in cluster.nodes:
        if node.read(SCHEDULER_MANIFEST) != before[node.name]:
            node.put_manifest(before[node.name])
    cluster.wait_schedulers(180)


def test_a_plugin_that_breaks_on_its_first_pod_is_rolled_back(
    cluster: Cluster, tmp_path: Path
) -> None:
    if cluster.version.minor != "1.34":
        pytest.skip(f"the scheduler is built for Kubernetes 1.34, not {cluster.version.minor}")
    binary = build_scheduler("breaks-on-first-pod", cluster.version)
    before = {node.name: node.read(SCHEDULER_MANIFEST) for node in cluster.nodes}
    patch = patch_file(tmp_path, BREAKS_ON_FIRST_POD.format(binary=binary))
    names = [node.name for node in cluster.nodes]
    words = ("apply", "-f", patch, *names, *access(cluster), "--yes", "-o", "json")
    applied = kschedpatch(cluster, *words)
    assert applied.code == exitcodes.ROLLED_BACK, applied
    # Everything before found it sound: only a pod showed it.
    failure = applied.document["failure"]
    assert failure["phase"] == "probe", failure
    assert "probe" in applied.err, applied.err
    assert {node.name: node.read(SCHEDULER_MANIFEST) for node in cluster.nodes} == before
    for node in cluster.nodes:
        assert traces(node) == []
    cluster.wait_schedulers()
    with fake_nodes(cluster.api, 1), PodStream(cluster.api, prefix="afterwards") as stream:
        wait_until("a bound pod", lambda: any(pod.node for pod in stream.placements()), 60)
