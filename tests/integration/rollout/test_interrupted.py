"""Ctrl-C at every phase, and a node without systemd."""

from __future__ import annotations

import shutil

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Phase, State
from kschedpatch.model.rollout import NodeOutcome
from kschedpatch.rollout.cancel import Cancel
from tests.integration.rollout.rig import (
    FULL,
    RBAC,
    SETTINGS,
    Rig,
    assert_clean,
    on_event,
    patch,
    skip_to_deadline,
    transaction,
)

PHASES = [
    Phase.LOCK, Phase.STAGE, Phase.PREFLIGHT, Phase.OBJECTS, Phase.ARM, Phase.SWITCH, Phase.WATCH,
    Phase.PROBE,
]  # fmt: skip
PROBING = SETTINGS._replace(probe=True, preflight=True)


SAMPLED = PHASES if FULL else [Phase.STAGE, Phase.OBJECTS, Phase.ARM, Phase.SWITCH, Phase.PROBE]


@pytest.mark.parametrize("phase", SAMPLED)
def test_the_first_ctrl_c_restores(one: Rig, phase: Phase) -> None:
    before, rights = one.manifests(), one.rights()
    cancel = Cancel()
    listener = on_event(phase, State.STARTED, cancel.ask)
    result = one.apply(patch(3, rest=RBAC), PROBING, cancel=cancel, listener=listener)
    assert result.exit_code == exitcodes.INTERRUPTED, result
    switched = PHASES.index(phase) >= PHASES.index(Phase.SWITCH)
    expected = NodeOutcome.RESTORED if switched else NodeOutcome.UNCHANGED
    assert [node.outcome for node in result.nodes] == [expected]
    assert one.manifests() == before
    assert one.rights() == rights
    assert_clean(one)


def test_ctrl_c_is_too_late_once_it_is_confirmed(one: Rig) -> None:
    cancel = Cancel()
    listener = on_event(Phase.CONFIRM, State.DONE, cancel.ask)
    result = one.apply(patch(one.fresh_v()), cancel=cancel, listener=listener)
    assert (result.exit_code, result.changed) == (exitcodes.OK, True)
    assert_clean(one)


@pytest.mark.sample
@pytest.mark.parametrize("phase", [Phase.SWITCH, Phase.WATCH] if FULL else [Phase.SWITCH])
def test_the_second_ctrl_c_leaves_it_to_the_dead_man(one: Rig, phase: Phase) -> None:
    before = one.manifests()
    cancel = Cancel()

    def twice() -> None:
        cancel.ask()
        cancel.ask()

    listener = on_event(phase, State.STARTED, twice)
    result = one.apply(patch(one.fresh_v()), cancel=cancel, listener=listener)
    assert result.exit_code == exitcodes.INTERRUPTED
    assert [node.outcome for node in result.nodes] == [NodeOutcome.LEFT_TO_NODE]
    one.node.wait((transaction(one.node) / "switched").exists, 60)
    one.sandbox.simulation.sleep(5)
    skip_to_deadline(one.node)
    assert one.node.wait(lambda: not transaction(one.node).exists(), 90)
    assert one.manifests() == before
    unit = "multi-user.target.wants/kschedpatch-deadman.service"
    one.node.path(f"/etc/systemd/system/{unit}").unlink(missing_ok=True)
    assert_clean(one)


def test_without_systemd_the_dead_man_is_a_process_of_his_own(one: Rig) -> None:
    before = one.manifests()
    shutil.rmtree(one.node.path("/run/systemd"))
    result = one.apply(patch(one.fresh_v()))
    assert result.exit_code == exitcodes.OK
    assert_clean(one)
    assert one.rollback().exit_code == exitcodes.OK
    cancel = Cancel()

    def twice() -> None:
        cancel.ask()
        cancel.ask()

    listener = on_event(Phase.WATCH, State.STARTED, twice)
    result = one.apply(patch(one.fresh_v()), cancel=cancel, listener=listener)
    assert result.exit_code == exitcodes.INTERRUPTED
    assert one.manifests() != before
    skip_to_deadline(one.node)
    assert one.node.wait(lambda: not transaction(one.node).exists(), 90)
    assert one.manifests() == before
    assert_clean(one)
    one.node.path("/run/systemd/system").mkdir(parents=True)
