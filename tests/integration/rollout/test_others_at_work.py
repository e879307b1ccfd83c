"""People, kubeadm and other runs at work on the same node at the same time."""

from __future__ import annotations

import threading

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Phase, State
from kschedpatch.model.rollout import FailureReason, NodeOutcome, RolloutResult
from kschedpatch.rollout.cancel import Cancel
from tests.integration.rollout.rig import (
    FULL,
    SETTINGS,
    Rig,
    assert_clean,
    lives,
    on_event,
    patch,
    shell,
    skip_to_deadline,
    stray_files,
    transaction,
)


def by_hand(rig: Rig) -> bytes:
    """A person edits the manifest, as editors do: a new file by rename."""
    content = rig.manifests()[0]
    assert content is not None
    edited = content + f"# by hand {rig.fresh_v()}\n".encode()
    fresh = rig.node.manifest.parent / ".edited"
    fresh.write_bytes(edited)
    fresh.rename(rig.node.manifest)
    return edited


@pytest.mark.parametrize("phase", [Phase.LOCK, Phase.SWITCH])
def test_a_manifest_changed_since_the_plan_is_left_alone(one: Rig, phase: Phase) -> None:
    written: list[bytes] = []
    listener = on_event(phase, State.STARTED, lambda: written.append(by_hand(one)))
    result = one.apply(patch(one.fresh_v()), listener=listener)
    assert result.failure is not None
    assert result.failure.reason is FailureReason.FOREIGN
    assert result.exit_code == exitcodes.REFUSED, result
    assert one.manifests() == (written[0],)
    assert_clean(one)


@pytest.mark.sample
def test_a_manifest_changed_after_the_switch_is_left_alone_and_named(one: Rig) -> None:
    written: list[bytes] = []
    cancel = Cancel()

    def edit() -> None:
        written.append(by_hand(one))
        cancel.ask()

    listener = on_event(Phase.SWITCH, State.DONE, edit)
    result = one.apply(patch(one.fresh_v()), listener=listener, cancel=cancel)
    assert result.exit_code == exitcodes.NOT_RESTORED
    assert [node.outcome for node in result.nodes] == [NodeOutcome.NOT_RESTORED]
    assert "foreign" in result.nodes[0].detail
    assert one.manifests() == (written[0],)
    assert_clean(one)


def test_what_was_written_over_the_proven_one_is_not_confirmed(one: Rig) -> None:
    written: list[bytes] = []
    listener = on_event(Phase.CONFIRM, State.STARTED, lambda: written.append(by_hand(one)))
    result = one.apply(patch(one.fresh_v()), listener=listener)
    assert result.failure is not None
    assert result.failure.reason is FailureReason.FOREIGN
    assert result.exit_code == exitcodes.NOT_RESTORED
    assert one.manifests() == (written[0],)
    assert_clean(one)


@pytest.mark.parametrize("phase", [Phase.STAGE, Phase.SWITCH] if FULL else [Phase.SWITCH])
def test_kubeadm_at_work_is_not_disturbed(one: Rig, phase: Phase) -> None:
    before, alive = one.manifests(), lives(one.node)
    ends = []
    listener = on_event(phase, State.STARTED, lambda: ends.append(one.node.kubeadm_at_work()))
    try:
        result = one.apply(patch(one.fresh_v()), listener=listener)
        with one.fleet() as fleet:
            plan = one.plan(fleet, patch(one.fresh_v()))
    finally:
        ends[0]()
    assert result.exit_code == exitcodes.REFUSED
    assert result.failure is not None
    assert "kubeadm is at work: kubeadm upgrade apply" in result.failure.detail
    assert "N007" in {finding.code for finding in plan.findings}
    assert (one.manifests(), lives(one.node)) == (before, alive)
    assert_clean(one)


def test_the_second_operator_is_told_who_is_first(one: Rig) -> None:
    refused: list[RolloutResult] = []

    def second() -> None:
        settings = SETTINGS._replace(who="second@desk")
        refused.append(one.apply(patch(one.fresh_v()), settings))

    result = one.apply(patch(one.fresh_v()), listener=on_event(Phase.SWITCH, State.STARTED, second))
    assert result.exit_code == exitcodes.OK
    (other,) = refused
    assert other.exit_code == exitcodes.REFUSED
    assert other.failure is not None
    assert other.failure.reason is FailureReason.LOCKED
    assert "ops@desk" in other.failure.detail
    assert result.run in other.failure.detail
    assert "since" in other.failure.detail
    assert_clean(one)


def test_of_two_operators_at_once_one_wins(three: Rig) -> None:
    ready = threading.Barrier(2)
    texts = [patch(three.fresh_v()) for _ in range(2)]
    results: list[RolloutResult] = []

    def one_of_them(text: bytes) -> None:
        listener = on_event(Phase.LOCK, State.STARTED, ready.wait)  # type: ignore[arg-type]
        results.append(three.apply(text, listener=listener))

    threads = [threading.Thread(target=one_of_them, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(result.exit_code for result in results) == [exitcodes.OK, exitcodes.REFUSED]
    (loser,) = (result for result in results if result.exit_code)
    assert loser.failure is not None
    assert loser.failure.reason is FailureReason.LOCKED
    assert_clean(three)


def test_a_lock_whose_time_is_over_is_taken_over(one: Rig) -> None:
    cancel = Cancel()

    def twice() -> None:
        cancel.ask()
        cancel.ask()

    left = one.apply(
        patch(one.fresh_v()), cancel=cancel, listener=on_event(Phase.STAGE, State.STARTED, twice)
    )
    assert left.exit_code == exitcodes.INTERRUPTED
    assert transaction(one.node).is_dir()
    text = patch(one.fresh_v())
    early = one.apply(text)
    assert early.failure is not None
    assert early.failure.reason is FailureReason.LOCKED
    skip_to_deadline(one.node)
    told: list[str] = []
    result = one.apply(text, listener=lambda event: told.append(event.text))
    assert result.exit_code == exitcodes.OK
    assert any(left.run in line for line in told)
    assert_clean(one)


def test_on_the_node_without_the_tool(one: Rig) -> None:
    """sh /var/lib/kschedpatch/agent.sh status|restore"""
    before = one.manifests()
    cancel = Cancel()

    def twice() -> None:
        cancel.ask()
        cancel.ask()

    one.apply(
        patch(one.fresh_v()), cancel=cancel, listener=on_event(Phase.WATCH, State.STARTED, twice)
    )
    assert one.manifests() != before
    agent = one.node.path("/var/lib/kschedpatch/agent.sh")
    said = shell(one.node, f"sh {agent} status")
    assert said.returncode == 0
    assert "(apply, by ops@desk): switched" in said.stdout
    assert "the dead man counts" in said.stdout
    said = shell(one.node, f"sh {agent} restore")
    assert (said.returncode, said.stderr) == (0, "")
    assert "ended: restored" in said.stdout
    assert one.manifests() == before
    assert stray_files(one.node) == []
    said = shell(one.node, f"sh {agent} restore")
    assert "nothing to restore" in said.stdout
    assert one.node.wait_ready()
    shell(one.node, f"sh {agent}")
    assert_clean(one)
