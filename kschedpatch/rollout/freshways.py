"""The connections over which nodes are confirmed: each is made after its node was changed.

That the old ones still hang together proves nothing. They are made while other nodes have their
turn: nobody waits for them.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future

from kschedpatch.model.events import Phase
from kschedpatch.node.agent import Agent, VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.rollout.failures import StepFailed, failure_of
from kschedpatch.rollout.fleet import Member, in_parallel


class FreshWays:
    def __init__(self, run: str) -> None:
        self._run = run
        self._ways: dict[str, Future[Agent]] = {}
        self._members: dict[str, Member] = {}

    def begin(self, member: Member) -> None:
        if member.label in self._ways:
            return
        self._members[member.label] = member
        self._ways[member.label] = way = Future[Agent]()
        # By no pool: at its end Python would wait for a connection that nobody needs any more.
        threading.Thread(target=_made, args=(member, way), daemon=True).start()

    def over_which_all_stand(self) -> dict[str, Agent]:
        """One for each, and over it the node has said that what was proven is still there."""

        def one(label: str) -> StepFailed | None:
            try:
                self.over_which_stands(label)
            except StepFailed as error:
                return error
            return None

        for error in in_parallel(one, tuple(self._ways)):
            if error is not None:
                raise error
        return {label: way.result() for label, way in self._ways.items()}

    def over_which_stands(self, label: str) -> Agent:
        try:
            try:
                return self._asked(label)
            except NodeError:
                # It may have been idle for as long as the other nodes took: what lies in between
                # forgets such connections.
                self._ways.pop(label).add_done_callback(_closed)
                self.begin(self._members[label])
                return self._asked(label)
        except (NodeError, VerbFailed) as error:
            raise StepFailed(failure_of(label, Phase.CONFIRM, error)) from error

    def _asked(self, label: str) -> Agent:
        agent = self._ways[label].result()
        agent.stands(self._run)
        return agent

    def close(self) -> None:
        """Also those that are still being made, as soon as they are."""
        for way in self._ways.values():
            way.add_done_callback(_closed)
        self._ways.clear()


def _made(member: Member, way: Future[Agent]) -> None:
    try:
        way.set_result(member.fresh())
    except BaseException as error:  # noqa: BLE001  whoever waits for it is told
        way.set_exception(error)


def _closed(way: Future[Agent]) -> None:
    if not way.cancelled() and way.exception() is None:
        way.result().close()
