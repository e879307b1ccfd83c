"""Every way in which a new scheduler fails ends with the old one ready, and is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.rollout import FailureReason, NodeOutcome
from kschedpatch.sandbox.imagehabits import MAIN_POD
from kschedpatch.sandbox.node import SandboxNode
from kschedpatch.sandbox.sandbox import Sandbox
from tests.forced.manifests import BROKEN, STRANGE_CONFIG, STRANGE_TEXT
from tests.forced.runs import forced_on
from tests.integration.rollout.rig import (
    CONFIG,
    RBAC,
    SETTINGS,
    SPEED,
    Rig,
    assert_clean,
    lives,
    on_event,
    patch,
)


def image(name: str) -> bytes:
    return patch(3, scheduler=f"image: {name}", rest=RBAC)


def forced(edit: Callable[[str], str]) -> Callable[[FleetPlan], FleetPlan]:
    """Past every check of the operator half: what arrives on the nodes is this."""

    def edited(plan: FleetPlan) -> FleetPlan:
        nodes = tuple(node._replace(after=edit(node.after)) for node in plan.nodes)
        return plan._replace(nodes=nodes)

    return edited


def without_image(name: str) -> Callable[[SandboxNode], Callable[[], None]]:
    def prepared(node: SandboxNode) -> Callable[[], None]:
        node.add_image(name)
        return lambda: node.remove_image(name)

    return prepared


def with_image(name: str) -> Callable[[SandboxNode], Callable[[], None]]:
    def prepared(node: SandboxNode) -> Callable[[], None]:
        node.add_image(name)
        return lambda: None

    return prepared


def nothing(_: SandboxNode) -> Callable[[], None]:
    return lambda: None


class Case(NamedTuple):
    name: str
    text: bytes
    reason: FailureReason
    words: str
    prepared: Callable[[SandboxNode], Callable[[], None]] = nothing
    """What is done to the node before the run; what it returns is done after its preflight."""
    edited: Callable[[FleetPlan], FleetPlan] = lambda plan: plan


MOUNT = "  mounts: [{name: x, hostPath: /opt/none, mountPath: /opt/none, type: File}]\n"
CASES = [
    Case("unknown flag", patch(3, rest=RBAC).replace(b'v: "3"', b'bogus: "1"'),
         FailureReason.CRASH, "unknown flag: --bogus"),
    Case("crash after start", image("example.org/crash-after-1:v1"),
         FailureReason.CRASH, "panic|restarted|ended after",
         with_image("example.org/crash-after-1:v1")),
    Case("image gone", image("example.org/gone:v1"),
         FailureReason.IMAGE, "ErrImagePull", without_image("example.org/gone:v1")),
    Case("hostPath missing", patch(3, rest=MOUNT + RBAC), FailureReason.MOUNT,
         "/opt/none is not a file"),
    Case("never ready", image("example.org/never-ready:v1"),
         FailureReason.NOT_READY, "running, not ready", with_image("example.org/never-ready:v1")),
    Case("unparsable", patch(3, rest=RBAC), FailureReason.REFUSED, "couldn't parse as pod",
         edited=forced(lambda _: "apiVersion: v1\nkind: Pod\n  x: [")),
    Case("admission", patch(3, rest=RBAC), FailureReason.DENIED, "NodePorts",
         edited=forced(lambda text: text.replace("containerPort: 10259", "containerPort: 10257"))),
]  # fmt: skip


@pytest.mark.sample
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_scheduler_that_fails_is_taken_back(one: Rig, case: Case) -> None:
    manifests, rights = one.manifests(), one.rights()
    uid, _, _ = lives(one.node)
    spoil = case.prepared(one.node)
    settings = SETTINGS._replace(settle=3, watch_timeout=20)
    listener = on_event(Phase.PREFLIGHT, State.DONE, spoil)
    result = one.apply(case.text, settings, listener=listener, edited=case.edited)
    assert result.exit_code == exitcodes.ROLLED_BACK, result
    assert [node.outcome for node in result.nodes] == [NodeOutcome.RESTORED]
    assert result.failure is not None
    assert result.failure.reason is case.reason
    assert re.search(case.words, result.failure.detail), result.failure
    assert result.failure.phase is Phase.WATCH
    assert one.manifests() == manifests
    assert lives(one.node)[0] == uid
    assert one.rights() == rights
    assert_clean(one)


@pytest.mark.parametrize("minor", [28, 34])
@pytest.mark.parametrize("name", BROKEN)
def test_manifests_that_the_planner_would_not_let_through(
    tmp_path: Path, name: str, minor: int
) -> None:
    """The same on real nodes: tests/e2e/test_failures.py."""
    case = BROKEN[name]
    with Sandbox(tmp_path, nodes=1, minor=minor, speed=SPEED) as sandbox:
        sandbox.nodes[0].path(STRANGE_CONFIG).write_text(STRANGE_TEXT)
        rig = Rig(sandbox)
        manifests = rig.manifests()
        with rig.fleet() as fleet:
            result = forced_on(fleet, case.mutate, SETTINGS._replace(watch_timeout=20))
        assert result.exit_code == exitcodes.ROLLED_BACK
        assert result.failure is not None
        assert result.failure.reason is case.reason
        assert case.sign in result.failure.detail
        assert rig.manifests() == manifests
        assert_clean(rig)


BEFORE = [
    ("unknown flag", CASES[0].text, Phase.PREFLIGHT, FailureReason.PREFLIGHT),
    ("image that nobody has", image("example.org/nowhere:v1"), Phase.IMAGE, FailureReason.IMAGE),
]


@pytest.mark.parametrize("text, phase, reason", [c[1:] for c in BEFORE], ids=[c[0] for c in BEFORE])
def test_what_is_caught_before_never_touches_the_live_one(
    one: Rig, text: bytes, phase: Phase, reason: FailureReason
) -> None:
    manifests, rights, alive = one.manifests(), one.rights(), lives(one.node)
    result = one.apply(text, SETTINGS._replace(preflight=True))
    assert result.exit_code == exitcodes.REFUSED
    assert result.failure is not None
    assert (result.failure.phase, result.failure.reason) == (phase, reason)
    assert lives(one.node) == alive
    assert one.manifests() == manifests
    assert one.rights() == rights
    assert_clean(one)


def test_the_last_node_that_fails_takes_all_back(three: Rig) -> None:
    manifests, rights = three.manifests(), three.rights()
    leader = three.sandbox.leader()
    assert leader is not None
    name = "example.org/gone:v1"
    for node in three.nodes:
        node.add_image(name)
    listener = on_event(
        Phase.SWITCH, State.STARTED, lambda: leader.remove_image(name), node=leader.name
    )
    result = three.apply(image(name), listener=listener)
    assert result.exit_code == exitcodes.ROLLED_BACK, result
    assert {node.outcome for node in result.nodes} == {NodeOutcome.RESTORED}
    assert result.failure is not None
    assert (result.failure.node, result.failure.reason) == (leader.name, FailureReason.IMAGE)
    assert three.manifests() == manifests
    assert three.rights() == rights
    assert_clean(three)


def test_a_file_that_is_spoilt_before_the_confirm_takes_all_back(three: Rig) -> None:
    """The schedulers that run have read theirs; the next start on that node would be in vain."""
    manifests = three.manifests()
    spoilt = three.nodes[1]

    def spoil() -> None:
        staged = spoilt.path("/etc/kubernetes/kschedpatch/generations")
        (config,) = (path for path in staged.glob("*/*") if path.name != ".sha256")
        config.write_text("profiles: [\n")

    last = three.sandbox.leader()
    assert last is not None
    listener = on_event(Phase.WATCH, State.DONE, spoil, node=last.name)
    result = three.apply(patch(three.fresh_v(), rest=CONFIG), listener=listener)
    assert result.exit_code == exitcodes.ROLLED_BACK, result
    assert {node.outcome for node in result.nodes} == {NodeOutcome.RESTORED}
    assert result.failure is not None
    assert (result.failure.node, result.failure.phase) == (spoilt.name, Phase.CONFIRM)
    assert "is no longer what was staged" in result.failure.detail
    assert three.manifests() == manifests
    assert_clean(three)


def test_what_a_failed_run_brought_does_not_stay(one: Rig) -> None:
    """Nobody can go back to it, and a binary is large."""
    text = patch(3, scheduler="image: example.org/crash-after-1:v1", rest=CONFIG)
    one.node.add_image("example.org/crash-after-1:v1")
    generations = one.node.path("/etc/kubernetes/kschedpatch/generations")
    assert one.apply(text, SETTINGS._replace(settle=3)).exit_code == exitcodes.ROLLED_BACK
    failed = {path.name for path in generations.iterdir()}
    assert one.apply(patch(one.fresh_v()), SETTINGS).exit_code == exitcodes.OK
    assert failed
    assert not failed & {path.name for path in generations.iterdir()}


def test_an_old_scheduler_that_ends_once_more_is_waited_for(one: Rig) -> None:
    """After a restore there is nothing better to go to: the kubelet's next start counts."""
    struck: list[int] = []

    def strike(event: Event) -> None:
        live = one.node.live()
        if (event.phase, event.text) == (Phase.RESTORE, "ready") and live and not struck:
            struck.append(live.pid)
            run = one.node.kubelet.run_of(MAIN_POD)
            with one.sandbox.simulation.lock:
                assert run is not None
                assert run.process is not None
                run.process.kill()

    one.node.add_image("example.org/crash-after-1:v1")
    result = one.apply(image("example.org/crash-after-1:v1"), SETTINGS, listener=strike)
    assert struck
    assert result.exit_code == exitcodes.ROLLED_BACK
    assert [node.outcome for node in result.nodes] == [NodeOutcome.RESTORED]
    live = one.node.live()
    assert live is not None
    assert live.ready
    assert live.pid not in struck
    assert_clean(one)


def test_what_the_kubelet_says_of_other_pods_is_no_sign(one: Rig) -> None:
    """Their containers and volumes may be called like ours; so may files beside the manifest."""
    journal = one.node.journal
    other = "kube-system/kube-scheduler-second-7d9f"

    def others_fail() -> None:
        journal.not_started("kube-scheduler", other, "0-1", "ErrImagePull", "no such image")
        journal.mount_failed(other, "0-1", "kube-scheduler", "/nowhere is not a file", "500ms")
        path = "/etc/kubernetes/manifests/kube-scheduler.yaml.bak"
        journal.unparsable(path, "couldn't parse as pod", relist=True)
        journal.unparsable(path, "couldn't parse as pod", relist=False)

    listener = on_event(Phase.SWITCH, State.DONE, others_fail)
    result = one.apply(patch(one.fresh_v()), listener=listener)
    assert result.exit_code == exitcodes.OK, result.failure
    one.rollback()


def test_that_the_manifest_goes_away_for_a_moment_is_no_sign(one: Rig) -> None:
    """A kubelet that reads its directory anew right then has lines about it: seen on a real one."""
    path, pod = "/etc/kubernetes/manifests/kube-scheduler.yaml", f"{MAIN_POD}-{one.node.name}"

    def reread() -> None:
        one.node.journal.vanished(path, f"kube-system/{pod}")

    listener = on_event(Phase.SWITCH, State.DONE, reread)
    result = one.apply(patch(one.fresh_v()), listener=listener)
    assert result.exit_code == exitcodes.OK, result.failure
    one.rollback()
