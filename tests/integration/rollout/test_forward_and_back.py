"""apply, rollback and history on simulated nodes: what goes well."""

from __future__ import annotations

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.rollout import NodeOutcome
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.rollout import roll_out
from tests.integration.rollout.rig import (
    CONFIG,
    RBAC,
    SETTINGS,
    Rig,
    assert_clean,
    lives,
    patch,
    tree_of,
)


@pytest.mark.sample
def test_three_nodes_are_changed_and_go_back(three: Rig) -> None:
    before, rights = three.manifests(), three.rights()
    leader = three.sandbox.leader()
    assert leader is not None
    told: list[Event] = []
    text = patch(3, rest=CONFIG + RBAC)
    settings = SETTINGS._replace(preflight=True, probe=True, reason="trial")
    result = three.apply(text, settings, listener=told.append)
    assert (result.exit_code, result.failure) == (exitcodes.OK, None)
    assert {node.outcome for node in result.nodes} == {NodeOutcome.CHANGED}
    assert all(node.seconds_to_proven for node in result.nodes)
    switched = [e.node for e in told if (e.phase, e.state) == (Phase.SWITCH, State.DONE)]
    assert switched[-1] == leader.name, "the leader goes last"
    phases = [e.phase for e in told if e.state is State.DONE]
    assert phases.index(Phase.PROBE) < phases.index(Phase.CONFIRM)
    assert_clean(three)
    after = three.manifests()
    assert all(a != b for a, b in zip(after, before, strict=True))
    assert three.rights() != rights

    with three.fleet() as fleet:
        again = three.plan(fleet, text)
        assert not again.changed, "the second time there is nothing to do"
        alive = [lives(node) for node in three.nodes]
        result = roll_out(fleet, again, SETTINGS, Cancel())
    assert (result.exit_code, result.changed) == (exitcodes.OK, False)
    assert [lives(node) for node in three.nodes] == alive

    result = three.rollback()
    assert result.exit_code == exitcodes.OK
    assert three.manifests() == before
    assert three.rights() == rights, "the rights go with the patch"
    assert_clean(three)


def test_history_and_the_way_to_any_run(one: Rig) -> None:
    original = one.manifests()
    first = one.apply(patch(4), SETTINGS._replace(reason="first"))
    standing = one.manifests()
    second = one.apply(patch(5))
    assert (first.exit_code, second.exit_code) == (0, 0)
    back = one.rollback(first.run)
    assert (back.exit_code, one.manifests()) == (0, standing)
    last = one.rollback("original")
    assert (last.exit_code, one.manifests()) == (0, original)
    assert_clean(one)
    with one.fleet() as fleet:
        (facts,) = fleet.look()
    runs = [r for r in facts.revisions if r.kind]
    assert [r.run for r in runs] == [last.run, back.run, second.run, first.run]
    assert [r.kind for r in runs] == ["rollback", "rollback", "apply", "apply"]
    assert {r.outcome for r in runs} == {"confirmed"}
    assert (runs[-1].who, runs[-1].reason, runs[-1].patch) == ("ops@desk", "first", "trial")
    assert facts.original == original[0]


@pytest.mark.parametrize("patched", [False, True])
def test_a_look_changes_nothing_on_the_node(one: Rig, patched: bool) -> None:
    if patched:
        assert one.apply(patch(6)).exit_code == exitcodes.OK
    before = tree_of(one.node.root)
    with one.fleet() as fleet:
        assert one.plan(fleet, patch(7, rest=CONFIG)).changed
    assert tree_of(one.node.root) == before
