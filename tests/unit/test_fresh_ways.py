"""The connections over which nodes are confirmed."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kschedpatch.model.events import Phase, nobody
from kschedpatch.model.rollout import RolloutSettings
from kschedpatch.node.errors import ConnectionLost
from kschedpatch.rollout.cancel import Cancel, Cancelled
from kschedpatch.rollout.failures import StepFailed
from kschedpatch.rollout.fleet import Fleet, Member
from kschedpatch.rollout.freshways import FreshWays
from kschedpatch.rollout.run import Run


class Way:
    def __init__(self, *, lost: bool) -> None:
        self.lost = lost
        self.asked = 0
        self.closed = False

    def stands(self, _run: str) -> None:
        self.asked += 1
        if self.lost:
            raise ConnectionLost("cp1: the connection was lost: reset by peer")

    def close(self) -> None:
        self.closed = True


class Node:
    label = "cp1"

    def __init__(self, *lost: bool) -> None:
        self.made: list[Way] = []
        self._lost = list(lost)

    def fresh(self) -> Way:
        self.made.append(Way(lost=self._lost.pop(0)))
        return self.made[-1]


def begun(node: Node) -> FreshWays:
    ways = FreshWays("r1")
    ways.begin(cast("Any", node))
    ways.begin(cast("Member", node))  # again: the first one is kept
    return ways


def test_one_that_was_forgotten_on_the_way_is_made_once_more() -> None:
    """It may be idle for as long as a large cluster takes; that is no reason to go back."""
    node = Node(True, False)
    ways = begun(node)
    agents = ways.over_which_all_stand()
    assert [cast("Any", agent) for agent in agents.values()] == node.made[1:]
    assert [(way.asked, way.closed) for way in node.made] == [(1, True), (1, False)]
    ways.close()
    assert [way.closed for way in node.made] == [True, True]


def test_a_node_that_is_not_reached_again_fails_the_confirm() -> None:
    node = Node(True, True)
    ways = begun(node)
    with pytest.raises(StepFailed) as raised:
        ways.over_which_all_stand()
    assert (raised.value.failure.node, raised.value.failure.phase) == ("cp1", Phase.CONFIRM)
    ways.close()
    assert [way.closed for way in node.made] == [True, True]


def test_nobody_waits_at_the_end_for_a_connection_that_is_still_being_made() -> None:
    """A host that accepts and never speaks would keep the program for minutes, and Ctrl-C in that
    time would show a traceback."""
    reached, goes_on = threading.Event(), threading.Event()

    class Slow(Node):
        def fresh(self) -> Way:
            reached.set()
            goes_on.wait(20)
            return super().fresh()

    before = {thread for thread in threading.enumerate() if not thread.daemon}
    ways = begun(Slow(False))
    assert reached.wait(20)
    assert {thread for thread in threading.enumerate() if not thread.daemon} == before
    ways.close()
    goes_on.set()


def test_the_last_moment_to_stop_is_before_the_first_confirm() -> None:
    """While all nodes say that they stand, and read large files for it, somebody may ask."""
    cancel, confirmed = Cancel(), list[str]()

    class AskedMeanwhile:
        def over_which_all_stand(self) -> dict[str, object]:
            cancel.ask()
            return {}

    class Turn:
        label = "cp1"

        def confirm(self, _fresh: object) -> None:
            confirmed.append(self.label)

    fleet = cast("Fleet", SimpleNamespace(listener=nobody))
    run = Run("r1", "apply", fleet, [], RolloutSettings(who="ops"), cancel)
    run.fresh = cast("FreshWays", AskedMeanwhile())
    run.turns = [cast("Any", Turn())]
    with pytest.raises(Cancelled):
        run._confirm_all()
    assert confirmed == []
