"""The connections over which nodes are confirmed."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kschedpatch.model.events import Phase
from kschedpatch.node.errors import ConnectionLost
from kschedpatch.rollout.failures import StepFailed
from kschedpatch.rollout.fleet import Member
from kschedpatch.rollout.freshways import FreshWays


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
