"""The canary on simulated nodes: proven before anything live is touched, at work in between, and
gone however the run ends. The same on real nodes: tests/e2e/test_canary.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.rollout import FailureReason, NodeOutcome
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.sandbox.node import SandboxNode
from kschedpatch.sandbox.sandbox import Sandbox
from tests.faults.operators import Killed, Way
from tests.integration.rollout.rig import (
    CONFIG,
    RBAC,
    SPEED,
    WITH_CANARY,
    Rig,
    assert_clean,
    beside,
    lives,
    on_event,
    patch,
    skip_to_deadline,
    stray_files,
    transaction,
)

MANIFEST = "/etc/kubernetes/manifests/kschedpatch-canary.yaml"
SETTINGS = WITH_CANARY._replace(settle=2, watch_timeout=20)


def image(name: str, rest: str = RBAC) -> bytes:
    return patch(3, scheduler=f"image: {name}", rest=rest)


def with_image(rig: Rig, name: str) -> bytes:
    for node in rig.nodes:
        node.add_image(name)
    return image(name)


def gone(node: SandboxNode) -> bool:
    return not node.path(MANIFEST).exists() and node.wait(lambda: node.live_canary() is None, 20)


class Word(NamedTuple):
    time: float
    word: str


def terms(sandbox: Sandbox, since: float) -> list[Word]:
    """What electors said from the moment on in which the canary took the lease."""
    found = []
    for event in sandbox.events:
        said = re.search("(attempting|acquired).* lease", event.text)
        if said and event.time > since:
            found.append(Word(event.time, said[1]))
    first = next(index for index, word in enumerate(found) if word.word == "acquired")
    return found[first:]


def moments(sandbox: Sandbox, *patterns: str) -> list[float]:
    """When each of these was first told."""
    return [
        next(event.time for event in sandbox.events if re.search(pattern, event.text))
        for pattern in patterns
    ]


def test_it_stands_on_all_nodes_before_the_first_is_switched(three: Rig) -> None:
    told: list[Event] = []
    seen: list[list[bool]] = []

    def listener(event: Event) -> None:
        told.append(event)
        if (event.phase, event.state) == (Phase.SWITCH, State.STARTED) and not seen:
            lives_there = [node.live_canary() for node in three.nodes]
            seen.append([live is not None and live.ready for live in lives_there])

    before = [lives(node) for node in three.nodes]
    result = three.apply(patch(3, rest=CONFIG), SETTINGS, listener=listener)
    assert (result.exit_code, result.failure) == (exitcodes.OK, None)
    assert seen == [[True, True, True]]
    phases = [e.phase for e in told if e.state is State.DONE and e.node == "cp1"]
    assert phases.index(Phase.ARM) < phases.index(Phase.CANARY) < phases.index(Phase.SWITCH)
    assert [lives(node) for node in three.nodes] != before
    assert all(gone(node) for node in three.nodes)
    assert_clean(three)
    assert three.rollback().exit_code == exitcodes.OK


@pytest.mark.sample
def test_it_does_the_work_while_the_live_one_is_exchanged(tmp_path: Path) -> None:
    """Slowly, because the machine's own delays count; real nodes are measured by `make outage`."""
    with Sandbox(tmp_path, nodes=1, speed=2) as sandbox:
        rig, record, since = Rig(sandbox), sandbox.record, sandbox.simulation.now()
        assert rig.apply(patch(3), SETTINGS).exit_code == exitcodes.OK
        # Twice: the pod was away, and its successor held.
        unready, _ = record.without_scheduler("cp1", since)
        assert unready > 1.5, "the pod itself was away"
        led = [sample for sample in record.samples if sample.time > since]
        assert any(sample.leader == "cp1" and sample.is_canary_leading for sample in led)
        assert rig.node.wait(lambda: record.samples[-1].leader == "cp1", 10)
        assert not record.samples[-1].is_canary_leading, "the new one leads in the end"
        assert max(record.without_leader(since)) < unready
        # The canary was held until the old one had ended: its next look at the lease came at once.
        held, old_ends, goes_on = moments(
            sandbox, "canary is stopped", "kube-scheduler.*(ended|exited)", "canary goes on"
        )
        assert held < old_ends <= goes_on
        # So was the new one, until its next request was due: nobody waited for a standby's poll.
        asked, acquired = terms(sandbox, since)[1:3]
        assert (asked.word, acquired.word) == ("attempting", "acquired")
        [canary_ends] = [e.time for e in sandbox.events if re.search("canary.*ended", e.text)][:1]
        assert asked.time < canary_ends < acquired.time < canary_ends + 1
        assert gone(rig.node)
        assert_clean(rig)


def test_where_caches_take_long_the_canary_leads_until_they_are_filled(tmp_path: Path) -> None:
    with Sandbox(tmp_path, nodes=1, speed=4) as sandbox:
        rig, since = Rig(sandbox), sandbox.simulation.now()
        # Logs have the machine's time: there it is a quarter.
        result = rig.apply(with_image(rig, "example.org/fills-caches-11:v1"), SETTINGS)
        assert result.exit_code == exitcodes.OK
        assert not sandbox.record.samples[-1].is_canary_leading
        asked, acquired = terms(sandbox, since)[1:3]
        assert acquired.word == "acquired"
        assert asked.time < acquired.time
        # Half of them: a busy machine takes its own time for the hand-over.
        assert max(sandbox.record.without_leader(since)) < 5.5, "its caches took eleven"
        assert gone(rig.node)


class Case(NamedTuple):
    name: str
    image: str
    reason: FailureReason
    words: str


CASES = [
    Case("crash", "example.org/crash-after-1:v1", FailureReason.CRASH, "panic|ended|restarted"),
    Case("only beside another", "example.org/canary-only-crash:v1", FailureReason.CRASH, "panic"),
    Case("never ready", "example.org/never-ready:v1", FailureReason.NOT_READY, "not ready"),
    Case("no log", "example.org/no-log-exit:v1", FailureReason.CRASH, "137 OOMKilled"),
    Case(
        "missing right",
        "example.org/needs-rbac-somebodys:v1",
        FailureReason.NOT_READY,
        "not ready",
    ),
]


@pytest.fixture(scope="module", params=[28, 34])
def of_minor(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Rig]:
    """Up to 1.30 readiness proves little, and the log has to speak."""
    directory = tmp_path_factory.mktemp("minor")
    with Sandbox(directory, nodes=1, minor=request.param, speed=SPEED) as sandbox:
        yield Rig(sandbox)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_that_fails_has_touched_nothing(of_minor: Rig, case: Case) -> None:
    rig, sandbox = of_minor, of_minor.sandbox
    manifests, rights, alive = rig.manifests(), rig.rights(), lives(rig.node)
    since = sandbox.simulation.now()
    result = rig.apply(with_image(rig, case.image), SETTINGS)
    assert result.exit_code == exitcodes.REFUSED, result
    assert [node.outcome for node in result.nodes] == [NodeOutcome.UNCHANGED]
    assert result.failure is not None
    assert (result.failure.phase, result.failure.reason) == (Phase.CANARY, case.reason)
    assert re.search(case.words, result.failure.detail), result.failure
    assert result.failure.log or case.name == "no log"
    assert (rig.manifests(), rig.rights(), lives(rig.node)) == (manifests, rights, alive)
    assert sandbox.record.without_leader(since) == []
    assert gone(rig.node)
    assert_clean(rig)


def test_a_second_try_does_not_wait_for_the_back_off_of_the_first(of_minor: Rig) -> None:
    text = with_image(of_minor, "example.org/crash-after-1:v1")
    uids = []
    for _ in range(2):
        result = of_minor.apply(text, SETTINGS)
        assert result.failure is not None
        assert result.failure.reason is FailureReason.CRASH
        pods = [p.name for p in of_minor.node.path("/var/log/pods").glob("*kschedpatch-canary*")]
        uids.append({name.rpartition("_")[2] for name in pods})
    assert uids[1] - uids[0], "another uid: what the kubelet remembers goes by it"


@pytest.mark.sample
def test_a_failure_on_any_node_leaves_all_of_them_untouched(three: Rig) -> None:
    text = with_image(three, "example.org/needs-more:v1")
    three.nodes[2].remove_image("example.org/needs-more:v1")
    alive, manifests = [lives(node) for node in three.nodes], three.manifests()
    spoil = three.nodes[2].remove_image
    three.nodes[2].add_image("example.org/needs-more:v1")
    listener = on_event(
        Phase.PREFLIGHT, State.DONE, lambda: spoil("example.org/needs-more:v1"), "cp3"
    )
    result = three.apply(text, SETTINGS, listener=listener)
    assert result.exit_code == exitcodes.REFUSED
    assert result.failure is not None
    assert (result.failure.node, result.failure.reason) == ("cp3", FailureReason.IMAGE)
    assert ([lives(node) for node in three.nodes], three.manifests()) == (alive, manifests)
    assert all(gone(node) for node in three.nodes)
    assert_clean(three)


def test_a_main_pod_that_fails_after_its_canary_stood(one: Rig) -> None:
    """What differs between the two can still go wrong."""
    manifests = one.manifests()
    result = one.apply(with_image(one, "example.org/main-only-crash:v1"), SETTINGS)
    assert result.exit_code == exitcodes.ROLLED_BACK
    assert result.failure is not None
    assert (result.failure.phase, result.failure.reason) == (Phase.WATCH, FailureReason.CRASH)
    assert one.manifests() == manifests
    assert gone(one.node)
    assert_clean(one)


def test_a_plugin_that_breaks_on_its_first_pod_is_rolled_back(three: Rig) -> None:
    manifests = three.manifests()
    text = with_image(three, "example.org/breaks-on-first-pod:v1")
    result = three.apply(text, SETTINGS._replace(probe=True))
    assert result.exit_code == exitcodes.ROLLED_BACK
    assert result.failure is not None
    assert result.failure.phase is Phase.PROBE
    assert "broke on its first pod" in result.failure.detail
    assert any("panic" in line for line in result.failure.log)
    assert three.manifests() == manifests
    assert_clean(three)


def test_electors_of_1_35_say_it_in_other_words(tmp_path: Path) -> None:
    """Slowly, as above: a canary that leads must be known for one, or nothing is handed over."""
    told: list[str] = []
    newer = "registry.k8s.io/kube-scheduler:v1.36.1"
    with Sandbox(tmp_path, nodes=1, speed=2) as sandbox:
        rig = Rig(sandbox)
        rig.node.add_image(newer)
        result = rig.apply(image(newer), SETTINGS, listener=lambda event: told.append(event.text))
        said = "".join(event.text for event in sandbox.events)
    assert result.exit_code == exitcodes.OK
    assert '"Successfully acquired lease" lock="kube-system/kube-scheduler"' in said
    assert any("hands over" in text for text in told)


def test_a_holder_that_died_with_the_lease_is_noticed(one: Rig) -> None:
    one.sandbox.election.keep_dead_holder_every = 1
    try:
        since = one.sandbox.simulation.now()
        result = one.apply(patch(one.fresh_v()), SETTINGS)
    finally:
        one.sandbox.election.keep_dead_holder_every = 0
    assert result.exit_code == exitcodes.OK
    assert any(re.search("still named cp1_.*emptied", note) for note in result.notes)
    # Nobody waits for the 15 s after which a lease expires.
    assert max(one.sandbox.record.without_leader(since)) < 12
    assert_clean(one)


def test_the_configuration_of_the_canary_does_not_delay_its_cache(one: Rig) -> None:
    seen: list[str] = []

    def look() -> None:
        seen.append(one.node.path("/var/lib/kschedpatch/txn/canary-config.yaml").read_text())

    text = patch(one.fresh_v(), rest="  config: {inline: {delayCacheUntilActive: true}}\n")
    listener = on_event(Phase.SWITCH, State.STARTED, look)
    assert one.apply(text, SETTINGS, listener=listener).exit_code == exitcodes.OK
    assert "delayCacheUntilActive: false" in seen[0]
    assert_clean(one)


def test_without_leader_election_there_is_none(tmp_path: Path) -> None:
    with Sandbox(tmp_path, nodes=1, speed=SPEED) as sandbox:
        rig = Rig(sandbox)
        text = rig.node.manifest.read_text().replace("leader-elect=true", "leader-elect=false")
        rig.node.manifest.write_text(text)
        rig.node.wait(lambda: False, 25)
        assert rig.node.wait_ready()
        told: list[Event] = []
        result = rig.apply(patch(3), SETTINGS, listener=told.append)
        assert result.exit_code == exitcodes.OK
        [skipped] = [e for e in told if e.phase is Phase.CANARY]
        assert skipped.state is State.SKIPPED
        assert "without leader election" in skipped.text


def test_ports_that_are_taken(one: Rig) -> None:
    """The plan knows; whoever takes the last one afterwards stops the run, not the scheduler."""
    freed = [one.node.occupy_port(port) for port in range(10269, 10279)]
    try:
        with one.fleet() as fleet:
            assert one.plan(fleet, patch(one.fresh_v())).nodes[0].canary is not None
        alive = lives(one.node)
        last: list[Callable[[], None]] = []
        listener = on_event(
            Phase.LOCK, State.DONE, lambda: last.append(one.node.occupy_port(10279))
        )
        result = one.apply(patch(one.fresh_v()), SETTINGS, listener=listener)
        assert result.exit_code == exitcodes.REFUSED
        assert result.failure is not None
        assert result.failure.reason is FailureReason.ROOM
        assert lives(one.node) == alive
        with one.fleet() as fleet:
            plan = one.plan(fleet, patch(one.fresh_v()))
        assert [f.code for f in plan.findings] == ["N031"]
        freed += last
    finally:
        for free in freed:
            free()
    assert_clean(one)


def test_too_little_memory_is_seen_by_the_plan(one: Rig) -> None:
    one.node.set_memory(100_000)
    try:
        with one.fleet() as fleet:
            plan = one.plan(fleet, patch(one.fresh_v()))
    finally:
        one.node.set_memory(6_000_000)
    assert [finding.code for finding in plan.findings] == ["N031"]
    assert "MiB of memory" in plan.nodes[0].no_canary


def test_requests_that_do_not_fit_are_refused(one: Rig) -> None:
    """By hand somebody took them away; the patch would bring back more than is free now."""
    text = one.node.manifest.read_text()
    try:
        assert one.apply(patch(one.fresh_v()), SETTINGS).exit_code == exitcodes.OK
        lowered = one.node.manifest.read_text().replace("cpu: 100m", "cpu: 1m")
        one.node.manifest.write_text(lowered)
        one.node.wait(lambda: False, 25)
        assert one.node.wait_ready()
        filler = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "filler", "namespace": "default"},
            "spec": {
                "nodeName": "cp1",
                "containers": [{"name": "x", "resources": {"requests": {"cpu": "3950m"}}}],
            },
        }
        with one.sandbox.simulation.lock:
            one.sandbox.api.create(filler)
        alive = lives(one.node)
        result = one.apply(patch(one.fresh_v()), SETTINGS)
        assert result.exit_code == exitcodes.REFUSED
        assert result.failure is not None
        assert result.failure.reason is FailureReason.ROOM
        assert "0.099 cpu more" in result.failure.detail
        assert lives(one.node) == alive
        assert_clean(one)
    finally:
        with one.sandbox.simulation.lock:
            one.sandbox.api.delete("Pod", "filler", "default")
        one.node.manifest.write_text(text)
        one.node.wait(lambda: False, 25)
        one.node.wait_ready()


def stands(rig: Rig, then: Callable[[], None]) -> None:
    """A run whose operator dies when the canaries stand."""
    way = Way(rig.sandbox)
    former, rig.opened = rig.opened, way.opened

    def die() -> None:
        then()
        way.kill()
        raise Killed

    try:
        rig.apply(patch(rig.fresh_v()), SETTINGS, listener=on_event(Phase.CANARY, State.DONE, die))
    except Killed:
        way.kill()
    finally:
        rig.opened = former


def test_the_dead_man_takes_it_away(one: Rig) -> None:
    alive = lives(one.node)
    stands(one, lambda: None)
    assert beside(one.node)
    skip_to_deadline(one.node)
    assert one.node.wait(lambda: not transaction(one.node).exists(), 30)
    assert gone(one.node)
    assert lives(one.node) == alive
    assert stray_files(one.node) == []


def test_after_a_reboot_it_does_not_even_start(one: Rig) -> None:
    manifests = one.manifests()
    stands(one, lambda: None)
    since = one.sandbox.simulation.now()
    one.node.reboot(2)
    assert one.node.wait_ready()
    since_then = [event.text for event in one.sandbox.events if event.time > since]
    assert not [text for text in since_then if "kschedpatch-canary" in text and "started" in text]
    assert gone(one.node)
    assert one.manifests() == manifests
    assert (stray_files(one.node), transaction(one.node).exists()) == ([], False)


def test_one_that_was_left_behind_is_no_obstacle(one: Rig) -> None:
    """Nobody is there any more to end it: the next run does, and its own canary stands."""
    stale = one.node.manifest.read_text().replace(
        "name: kube-scheduler", "name: kschedpatch-canary"
    )
    one.node.path(MANIFEST).write_text(stale.replace("10259", "10269"))
    with one.fleet() as fleet:
        plan = one.plan(fleet, patch(one.fresh_v()))
    assert [f.code for f in plan.findings] == ["N023"]
    assert "kschedpatch-canary.yaml" in plan.findings[0].message
    assert one.apply(patch(one.fresh_v()), SETTINGS).exit_code == exitcodes.OK
    assert gone(one.node)
    assert_clean(one)


def test_ctrl_c_while_it_starts(one: Rig) -> None:
    alive, cancel = lives(one.node), Cancel()
    listener = on_event(Phase.CANARY, State.PROGRESS, cancel.ask)
    result = one.apply(patch(one.fresh_v()), SETTINGS, cancel=cancel, listener=listener)
    assert result.exit_code == exitcodes.INTERRUPTED
    assert lives(one.node) == alive
    assert gone(one.node)
    assert_clean(one)
