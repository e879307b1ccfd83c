"""Each way in which a new scheduler can fail on a real kubelet: recognised by its own sign, named,
and every node healthy on the old revision again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Event, State
from kschedpatch.model.rollout import FailureReason, NodeOutcome, RolloutResult
from kschedpatch.sandbox.sandbox import Sandbox
from tests.forced.manifests import (
    BROKEN,
    STRANGE_CONFIG,
    STRANGE_TEXT,
    Broken,
    flag,
    without_rights,
)
from tests.forced.runs import forced_on
from tests.integration.rollout.rig import SPEED, Rig, assert_clean

from .cluster.cluster import Cluster
from .cluster.console import say
from .cluster.node import Node
from .fleets import SETTINGS, forced
from .tool import standing, traces


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Sandbox(tmp_path_factory.mktemp("simulated"), nodes=1, speed=SPEED) as sandbox:
        strange = sandbox.nodes[0].path(STRANGE_CONFIG)
        strange.write_text(STRANGE_TEXT)
        yield Rig(sandbox)


class Told:
    """What a run tells: the phases that it passes, in their order."""

    def __init__(self) -> None:
        self.phases: list[tuple[str, str]] = []

    def __call__(self, event: Event) -> None:
        if event.state is not State.PROGRESS:
            self.phases.append((str(event.phase), str(event.state)))


@pytest.mark.parametrize("name", BROKEN)
def test_each_failure_is_named_and_undone(cluster: Cluster, simulated: Rig, name: str) -> None:
    """On the real kubelet, and in the same way on the simulated one."""
    case = BROKEN[name]
    cluster.wait_schedulers()
    node = cluster.nodes[0]
    node.put_manifest(STRANGE_TEXT.encode(), STRANGE_CONFIG)
    before, told = standing(node), Told()
    result = forced(cluster, case.mutate, node.name, listener=told)
    _is_named_and_undone(result, case)
    say(f"{name}: back after {result.nodes[0].seconds_to_restored:.1f} s")
    _as_before(node, before.manifest, before.uid)

    told_there = Told()
    with simulated.fleet(told_there) as fleet:
        there = forced_on(fleet, case.mutate, SETTINGS._replace(probe=False))
    _is_named_and_undone(there, case)
    assert told_there.phases == told.phases
    assert there.failure is not None
    assert result.failure is not None
    assert there.failure.phase is result.failure.phase
    assert_clean(simulated)


def _is_named_and_undone(result: RolloutResult, case: Broken) -> None:
    assert result.failure is not None
    said = (result.failure.reason, case.sign in result.failure.detail)
    assert said == (case.reason, True), result.failure
    assert result.exit_code == exitcodes.ROLLED_BACK
    assert [one.outcome for one in result.nodes] == [NodeOutcome.RESTORED]


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
