"""Looks at the nodes again and again, over connections that stay open. A node that goes away is
tried anew with every round, and holds up nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kschedpatch.model.facts import Hashes, NodeFacts
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.node.agent import Agent, VerbFailed
from kschedpatch.node.errors import CallTimeout, NodeError
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.fleet import Fleet, Member

#: A node that has not answered for so long is shown as not reached, whatever its connection says.
PATIENCE = 8.0
#: Hashes of large files, and objects of the cluster, are not looked at with every round.
THOROUGH = 15.0
_SLICE = 0.05


class _Watched:
    """One node, looked at by a thread of its own: none is left waiting for another."""

    def __init__(
        self, address: NodeAddress, opened: Callable[[NodeAddress], Agent], member: Member | None
    ) -> None:
        self.label = address.label or address.host
        self.member = member
        self.answer: NodeFacts | Exception | None = None
        self.began = 0.0
        self._address = address
        self._opened = opened
        self._free = threading.Event()
        self._free.set()

    @property
    def is_busy(self) -> bool:
        return not self._free.is_set()

    def begin(self, *, api: bool, hashes: Hashes) -> None:
        self._free.clear()
        self.began = time.monotonic()
        # A daemon: a connection that hangs must not keep the program from ending.
        threading.Thread(target=self._look, args=(api, hashes), daemon=True).start()

    def _look(self, api: bool, hashes: Hashes) -> None:
        try:
            if self.member is None:
                self.member = Member(self._address, self._opened)
            self._take(self.member.agent.facts(api=api, hashes=hashes), hashes)
        except Exception as error:  # noqa: BLE001  whoever waits for the round tells it
            self.answer = error
            if not isinstance(error, VerbFailed):  # that one is an answer, over a good connection
                lost, self.member = self.member, None
                if lost is not None:
                    lost.close()
        finally:
            self._free.set()

    def _take(self, facts: NodeFacts, hashes: Hashes) -> None:
        former = self.answer
        if hashes is Hashes.NONE and isinstance(former, NodeFacts):
            # As it was found when the hashes were looked at last, for the same manifest.
            same = former.manifest == facts.manifest
            facts = facts._replace(generation_problem=former.generation_problem if same else "")
        self.answer = facts


class Watch:
    """``fleet`` is after each round as after a look of its own."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        members = {member.label: member for member in fleet.members}
        self._nodes = [
            _Watched(address, fleet.opened, members.get(address.label or address.host))
            for address in fleet.addresses
        ]
        self._thorough_at = float("-inf")

    def round(self, cancel: Cancel) -> bool:
        """Whether it was a thorough one."""
        thorough = time.monotonic() - self._thorough_at >= THOROUGH
        asker = self._asker()
        begun = [node for node in self._nodes if not node.is_busy]
        for node in begun:
            hashes = Hashes.CURRENT if thorough else Hashes.NONE
            node.begin(api=asker in ("", node.label), hashes=hashes)
        end = time.monotonic() + PATIENCE
        while any(node.is_busy for node in begun) and time.monotonic() < end:
            if cancel.wait(_SLICE):
                return False
        self._gather()
        if thorough:
            self._thorough_at = time.monotonic()
        return thorough

    def _asker(self) -> str:
        """One node asks the API server for all of them; where none got an answer, each does."""
        answered = (n.label for n in self._fleet.facts if n.api_answers)
        return next(answered, "")

    def _gather(self) -> None:
        fleet = self._fleet
        facts: list[NodeFacts] = []
        fleet.failures.clear()
        for node in self._nodes:
            if node.is_busy:
                silent = time.monotonic() - node.began
                message = f"no answer for {silent:.0f} s"
                fleet.failures[node.label] = CallTimeout(message, "it is asked again and again")
            elif isinstance(node.answer, NodeFacts):
                facts.append(node.answer)
            elif isinstance(node.answer, NodeError | VerbFailed):
                fleet.failures[node.label] = node.answer
            elif node.answer is not None:
                raise node.answer  # a bug
        fleet.facts = tuple(facts)
        fleet.members = tuple(
            node.member for node in self._nodes if node.member is not None and not node.is_busy
        )

    def close(self) -> None:
        """Of nodes that are busy as well: what hangs there ends with its connection."""
        for node in self._nodes:
            member = node.member
            if member is not None:
                member.close()
