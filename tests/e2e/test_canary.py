"""What the proofs before the switch can't find, and what the canary is for, on real nodes."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kschedpatch.model import exitcodes

from .cluster.build import build_scheduler
from .cluster.cluster import Cluster
from .cluster.console import say, wait_until
from .cluster.loopback import PATIENCE
from .cluster.node import SCHEDULER_MANIFEST, SCHEDULER_PORT
from .cluster.record import node_of
from .cluster.sampler import Sampler
from .cluster.workload import PodStream, fake_nodes
from .tool import access, kschedpatch, patch_file, standing, traces

pytestmark = pytest.mark.usefixtures("kubeadms_manifests")


def names(cluster: Cluster) -> list[str]:
    return [node.name for node in cluster.nodes]


CANARY = "kschedpatch-canary"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kschedpatch:e2e"
BAD_FLAG = """
scheduler: {args: {bogus: "1"}}
rbac:
  rules: [{apiGroups: [""], resources: [pods], verbs: [update, patch]}]
"""
NO_RIGHTS = """
scheduler: {args: {kubeconfig: /etc/kubernetes/kubelet.conf}}
mounts:
- {name: kubelet-conf, hostPath: /etc/kubernetes/kubelet.conf, type: File}
- {name: kubelet-pki, hostPath: /var/lib/kubelet/pki, type: Directory}
"""
BREAKS_ON_FIRST_POD = """
scheduler: {{binary: {binary}}}
config:
  inline:
    profiles:
    - schedulerName: default-scheduler
      plugins: {{preFilter: {{enabled: [{{name: BreaksOnFirstPod}}]}}}}
"""


def test_a_scheduler_that_cannot_start_costs_nothing(cluster: Cluster, tmp_path: Path) -> None:
    """Not tried before: only the canary can find it, and the live ones do not notice."""
    before = {node.name: standing(node) for node in cluster.nodes}
    patch = patch_file(tmp_path, BAD_FLAG)
    words = ("-f", patch, *names(cluster), *access(cluster), "--yes", "--no-preflight")
    with Sampler(cluster) as sampler:
        applied = kschedpatch(cluster, "apply", *words, "-o", "json")
    assert applied.code == exitcodes.REFUSED, applied
    failure = applied.document["failure"]
    assert (failure["phase"], failure["reason"]) == ("canary", "crash")
    assert "unknown flag: --bogus" in failure["detail"]
    assert any("--bogus" in line for line in failure["log"])
    # The very same containers, and nobody was without a leader.
    assert {node.name: standing(node) for node in cluster.nodes} == before
    assert sampler.record.outages() == []
    assert not cluster.api.exists(ROLE)
    for node in cluster.nodes:
        assert traces(node) == []
        wait_until("the canary's end", lambda: not node.containers(CANARY), 60)  # noqa: B023


def test_missing_rights_are_seen_by_the_canary(cluster: Cluster, tmp_path: Path) -> None:
    """The kubelet's own identity: it starts, serves, and hangs before it asks for the lease."""
    node = cluster.nodes[0]
    before = standing(node)
    patch = patch_file(tmp_path, NO_RIGHTS)
    words = ("-f", patch, node.name, *access(cluster), "--yes", "--partial", "--timeout", "12")
    applied = kschedpatch(cluster, "apply", *words, "-o", "json")
    assert applied.code == exitcodes.REFUSED, applied
    failure = applied.document["failure"]
    assert (failure["phase"], failure["reason"]) == ("canary", "not-ready"), failure
    assert any("forbidden" in line for line in failure["log"]), failure
    assert standing(node) == before
    assert traces(node) == []


def test_pods_in_flight_are_neither_lost_nor_bound_twice(cluster: Cluster, tmp_path: Path) -> None:
    patch = patch_file(tmp_path, 'scheduler: {args: {v: "3"}}')
    words = (*names(cluster), *access(cluster), "--yes", "--settle", "1")
    ports = (SCHEDULER_PORT, SCHEDULER_PORT + 10)
    with fake_nodes(cluster.api, 3), PodStream(cluster.api, per_second=10) as stream:
        with Sampler(cluster, ports=ports) as sampler:
            applied = kschedpatch(cluster, "apply", "-f", patch, *words)
            wait_until("a leader", sampler.works_now, 30)
        assert applied.code == 0, applied.err
    placements = stream.placements()
    assert len(placements) > 50
    assert [pod.pod for pod in placements if pod.node is None] == []
    assert (stream.moved, stream.refused) == ([], [])
    leader, heir, *_ = sampler.record.holders()
    # On its own node only the canary can take over; a standby of another one may ask before it.
    ports_of_heir = {process.port for process in sampler.record.owners_of(heir)}
    expected = {SCHEDULER_PORT + 10 * (node_of(heir) == node_of(leader))}
    # Of a term that is over before anybody could be asked, nobody knows whose it was.
    too_short = sampler.record.term(heir) < 2 * PATIENCE
    assert ports_of_heir == expected or (not ports_of_heir and too_short), sampler.record.story()
    if not ports_of_heir:
        say(f"the heir could not be asked:\n{sampler.record.story()}")
    say(f"{sampler.record.outage():.2f} s without a ready lease holder at the longest")
    rolled = kschedpatch(cluster, "rollback", *words)
    assert rolled.code == 0, rolled.err


def test_a_leader_that_dies_with_the_lease_is_noticed(cluster: Cluster, tmp_path: Path) -> None:
    """Killed at the switch, it does not give the lease back, and all others would wait for 15 s."""
    node = cluster.node(cluster.lease_holder())
    patch = patch_file(tmp_path, 'scheduler: {args: {v: "3"}}')
    words = (node.name, *access(cluster), "--yes", "--settle", "1")
    killer = (
        "pid=$(crictl inspect -o go-template --template '{{.info.pid}}'"
        " $(crictl ps -q --name '^kube-scheduler$')); echo $pid;"
        f" while [ -e {SCHEDULER_MANIFEST} ]; do sleep 0.01; done; kill -9 $pid"
    )
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(node.run, killer, timeout=120)
        applied = kschedpatch(cluster, "apply", "-f", patch, *words, "--partial", "-o", "json")
        assert killed.result().returncode == 0
    assert applied.code == 0, applied
    assert any("still named" in note for note in applied.document["notes"]), applied.document
    cluster.wait_schedulers()
    assert kschedpatch(cluster, "rollback", *words).code == 0


def test_the_dead_man_takes_the_canary_away(cluster: Cluster, tmp_path: Path) -> None:
    """The operator is killed while it stands; nobody comes back."""
    node = cluster.nodes[0]
    before = standing(node)
    patch = patch_file(tmp_path, 'scheduler: {args: {v: "3"}}')
    words = (node.name, *access(cluster), "--yes", "--partial", "--confirm-timeout", "30")
    operator = subprocess.Popen(
        [sys.executable, "-m", "kschedpatch", "apply", "-f", patch, *words, "--settle", "60"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until("the canary", lambda: bool(node.containers(CANARY)), 60, 0.2)
    finally:
        operator.kill()
        operator.wait()
    wait_until("the end of the run", lambda: traces(node) == [], 120)
    wait_until("the canary's end", lambda: not node.containers(CANARY), 60)
    assert standing(node) == before


@pytest.mark.full  # the demo has the same without its pods afterwards
def test_a_plugin_that_breaks_on_its_first_pod_is_rolled_back(
    cluster: Cluster, tmp_path: Path
) -> None:
    if cluster.version.minor != "1.34":
        pytest.skip(f"the scheduler is built for Kubernetes 1.34, not {cluster.version.minor}")
    binary = build_scheduler("breaks-on-first-pod", cluster.version)
    before = {node.name: node.read(SCHEDULER_MANIFEST) for node in cluster.nodes}
    patch = patch_file(tmp_path, BREAKS_ON_FIRST_POD.format(binary=binary))
    words = ("apply", "-f", patch, *names(cluster), *access(cluster), "--yes", "-o", "json")
    applied = kschedpatch(cluster, *words)
    assert applied.code == exitcodes.ROLLED_BACK, applied
    # Everything before found it sound: only a pod showed it.
    failure = applied.document["failure"]
    assert failure["phase"] == "probe", failure
    assert "probe" in applied.err, applied.err
    assert {node.name: node.read(SCHEDULER_MANIFEST) for node in cluster.nodes} == before
    for node in cluster.nodes:
        assert traces(node) == []
        # Its binary is large, and other tests have small disks.
        node.run("rm -rf /etc/kubernetes/kschedpatch /var/lib/kschedpatch")
    cluster.wait_schedulers()
    with fake_nodes(cluster.api, 1), PodStream(cluster.api, prefix="afterwards") as stream:
        wait_until("a bound pod", lambda: any(pod.node for pod in stream.placements()), 60)
