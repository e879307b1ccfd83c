"""An operator whose connections can be cut, swallowed, or who dies without a word."""

from __future__ import annotations

import time
from collections.abc import Callable

from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.node.agent import Agent, Say
from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.chain import Chain, Reply, Wanted
from kschedpatch.node.errors import CallTimeout, ConnectionLost, Unreachable
from kschedpatch.node.process import ProcessChannel
from kschedpatch.node.script import agent_script
from kschedpatch.node.session import Session
from kschedpatch.sandbox.sandbox import Sandbox
from tests.integration.rollout.rig import NodeTransport

_PATIENCE = 0.6
"""Seconds after which a swallowed call counts as lost; the real ones are longer."""


class Killed(BaseException):
    """kill -9: nothing of the operator half runs on, no ``except`` of it catches this."""


class Way:
    """The way from one operator to all nodes."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.dead = False
        self.cuts = 0
        """Channels that were opened before the last cut are lost."""
        self.hole = False
        self.at: Callable[[str, str], None] = lambda _moment, _what: None
        """Called at each boundary of a call: before or after, and the verb."""
        self.counting = False

    def kill(self) -> None:
        self.dead = True

    def reset(self) -> None:
        self.cuts += 1

    def opened(self, address: NodeAddress) -> Agent:
        node = self._sandbox.node(address.host)
        return _Agent(
            Session(_Transport(NodeTransport(node), self), NO_BECOME, agent_script()), self
        )


class _Agent(Agent):
    def __init__(self, session: Session, way: Way) -> None:
        super().__init__(session)
        self._way = way

    def begin(self, *asked: Wanted) -> Chain:
        self._at("before", asked[0].verb)
        return super().begin(*asked)

    def answer(self, chain: Chain, say: Say | None = None) -> Reply:
        verb = chain.verb
        reply = super().answer(chain, say)
        self._at("after", verb)
        if chain.goes_on:
            self._at("before", chain.verb)
        return reply

    def _at(self, moment: str, verb: str) -> None:
        if self._way.counting:
            self._way.at(moment, f"{verb} on {self.label}")


class _Transport:
    def __init__(self, inner: NodeTransport, way: Way) -> None:
        self._inner = inner
        self._way = way
        self.label = inner.label

    def open(self, command: str) -> _Channel:
        if self._way.dead:
            raise Killed
        if self._way.hole:
            time.sleep(0.3)
            raise Unreachable(f"{self.label}: nobody answers")
        return _Channel(self._inner.open(command), self._way, self.label)

    def close(self) -> None:
        self._inner.close()


class _Channel:
    def __init__(self, inner: ProcessChannel, way: Way, label: str) -> None:
        self._inner = inner
        self._way = way
        self._label = label
        self._cuts = way.cuts
        self._swallowed_since: float | None = None

    def _look(self) -> None:
        if self._way.dead:
            self._inner.close()
            raise Killed
        if self._way.cuts != self._cuts:
            self._inner.close()
            raise ConnectionLost(f"{self._label}: the connection was lost: reset by peer")
        if self._way.hole or self._swallowed_since is not None:
            # What was once in the hole does not come back with it.
            now = time.monotonic()
            since = self._swallowed_since = self._swallowed_since or now
            if now - since > _PATIENCE:
                raise ConnectionLost(f"{self._label}: the connection was lost: silence")

    def send(self, data: bytes) -> None:
        self._look()
        self._inner.send(data)

    def close_stdin(self) -> None:
        self._inner.close_stdin()

    def receive(self, timeout: float) -> bytes:
        end = time.monotonic() + timeout
        while True:
            self._look()
            if self._swallowed_since is not None:
                time.sleep(0.05)
            else:
                try:
                    return self._inner.receive(0.02)
                except CallTimeout:
                    pass
            if time.monotonic() > end:
                raise CallTimeout(f"{self._label}: nothing came")

    def stderr_so_far(self) -> bytes:
        return self._inner.stderr_so_far()

    def has_ended(self) -> bool:
        return self._inner.has_ended()

    def exit_code(self, timeout: float) -> int | None:
        return None if self._way.hole else self._inner.exit_code(timeout)

    def close(self) -> None:
        self._inner.close()
