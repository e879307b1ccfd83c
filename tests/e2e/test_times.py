"""How long a node is without its scheduler, against a hand edit on the same node."""

from __future__ import annotations

import statistics
import time

import pytest

from kschedpatch.model import exitcodes
from tests.forced.manifests import flag

from .cluster.cluster import Cluster
from .cluster.console import say, wait_until
from .cluster.node import SCHEDULER_MANIFEST, Node
from .cluster.sampler import Sampler
from .fleets import SETTINGS, forced
from .tool import standing

_ROUNDS = 3
_LAST_LOG = (
    "d=$(ls -td /var/log/pods/kube-system_kube-scheduler-*/kube-scheduler | head -1);"
    ' tail -n 3 "$d"/*.log'
)


@pytest.mark.full
def test_seconds_without_a_scheduler(cluster: Cluster) -> None:
    node = [n for n in cluster.nodes if n.name != cluster.lease_holder()][-1]
    original = node.read(SCHEDULER_MANIFEST)
    rows: dict[str, list[float]] = {}
    for round_ in range(_ROUNDS):
        verbose = flag(f"--v={round_ + 2}")
        rows.setdefault("hand edit", []).append(_by_hand(cluster, node, verbose(original.decode())))
        _put_back(cluster, node, original)
        rows.setdefault("crash, put back by hand", []).append(
            _back_by_hand(cluster, node, original.decode())
        )
        with Sampler(cluster) as sampler:
            run = f"20200102-00000{round_}-0000"
            settings = SETTINGS._replace(settle=1)
            bad = forced(cluster, flag("--bogus=1"), node.name, settings=settings, run=run)
        assert bad.exit_code == exitcodes.ROLLED_BACK
        rows.setdefault("crash, then back", []).append(_longest(sampler, node))
        rows.setdefault("crash, from its sign to the old one proven", []).append(
            bad.nodes[0].seconds_to_restored or 0.0
        )
        _settled(cluster, node, original)
        with Sampler(cluster) as sampler:
            run = f"20200103-00000{round_}-0000"
            good = forced(cluster, verbose, node.name, settings=settings, run=run)
        assert good.exit_code == exitcodes.OK
        rows.setdefault("kschedpatch", []).append(_longest(sampler, node))
        rows.setdefault("kschedpatch, switch to proven", []).append(
            good.nodes[0].seconds_to_proven or 0.0
        )
        _put_back(cluster, node, original)
    for name, seconds in rows.items():
        shown = ", ".join(f"{value:.1f}" for value in seconds)
        say(f"{name}: median {statistics.median(seconds):.1f} s ({shown})")
    assert statistics.median(rows["kschedpatch"]) < statistics.median(rows["hand edit"])


def _by_hand(cluster: Cluster, node: Node, text: str) -> float:
    before = standing(node).uid
    with Sampler(cluster) as sampler:
        node.put_manifest(text.encode())
        wait_until("the old pod's end", lambda: not node.scheduler_ready(), 60)
        wait_until("the new pod", node.scheduler_ready, 120)
        time.sleep(1)
    assert standing(node).uid != before
    return _longest(sampler, node)


def _back_by_hand(cluster: Cluster, node: Node, original: str) -> float:
    """From the old manifest's return to its scheduler, after one that crashes took its place."""
    node.put_manifest(flag("--bogus=1")(original).encode())
    wait_until("the old pod's end", lambda: not node.scheduler_ready(), 60)
    wait_until("a crash", lambda: "bogus" in node.output(_LAST_LOG), 60, 0.2)
    _forget_exited(node)
    start = time.monotonic()
    node.put_manifest(original.encode())
    wait_until("the old one", node.scheduler_ready, 180, 0.1)
    seconds = time.monotonic() - start
    _settled(cluster, node, original.encode())
    return seconds


def _put_back(cluster: Cluster, node: Node, original: bytes) -> None:
    _forget_exited(node)
    node.put_manifest(original)
    _settled(cluster, node, original)


def _forget_exited(node: Node) -> None:
    """The runtime's record of the old one: by it the kubelet backs off, in the end for minutes."""
    node.run("crictl rm $(crictl ps -aq --state Exited --name kube-scheduler)", check=False)


def _settled(cluster: Cluster, node: Node, manifest: bytes) -> None:
    time.sleep(3)
    wait_until("the scheduler", node.scheduler_ready, 180)
    time.sleep(12)  # what the kubelet remembers of the last change is not to count
    cluster.wait_schedulers(180)
    assert node.read(SCHEDULER_MANIFEST) == manifest


def _longest(sampler: Sampler, node: Node) -> float:
    return max((end - start for start, end in sampler.record.unready(node.name)), default=0.0)
