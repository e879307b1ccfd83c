"""Tells the nodes that the operator is alive: each renewal moves the dead man's deadline."""

from __future__ import annotations

import threading
from contextlib import suppress

from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.rollout.fleet import Member


class Heartbeat:
    """One thread a node: a node that hangs does not keep the others waiting for their renewal."""

    def __init__(self, run: str, extent: int) -> None:
        self._run = run
        # Many within the extent: some may be late or lost, and the nodes of a sandbox count faster
        # than the operator does.
        self._pause = max(0.5, extent / 15)
        self._ends: dict[str, threading.Event] = {}
        self._lost: dict[str, str] = {}

    def start(self, member: Member) -> None:
        end = threading.Event()
        self._ends[member.label] = end
        threading.Thread(target=self._beat, args=(member, end), daemon=True).start()

    def stop(self, label: str) -> None:
        if label in self._ends:
            self._ends.pop(label).set()

    def stop_all(self) -> None:
        for label in tuple(self._ends):
            self.stop(label)

    def lost(self) -> dict[str, str]:
        """Nodes whose transaction is no longer open, with what they said."""
        return dict(self._lost)

    def _beat(self, member: Member, end: threading.Event) -> None:
        while not end.wait(self._pause):
            # A connection that breaks is noticed by whoever works with it; the dead man counts on.
            with suppress(NodeError):
                try:
                    member.agent.renew(self._run)
                except VerbFailed as error:
                    if error.reason == "not-locked" and not end.is_set():
                        self._lost[member.label] = error.detail
                        return
