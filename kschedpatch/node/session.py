"""Calls of the script on a node.

A session may be used by several threads at once. A call has a shell of its own while it runs; one
that ended well is kept for the next call, which then costs one round trip.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence

from kschedpatch.node.become import Become
from kschedpatch.node.chain import Call, Chain, Reply, Wanted, explained
from kschedpatch.node.errors import NodeError
from kschedpatch.node.loader import Arguments
from kschedpatch.node.payload import Payload
from kschedpatch.node.shell import Shell, Starter
from kschedpatch.node.transport import Transport


class Session:
    def __init__(self, transport: Transport, become: Become, script: str) -> None:
        self._transport = transport
        self.script = script
        """What shells get that are started from now on."""
        self._starter = Starter(transport, become)
        self._idle: list[Shell] = []
        self._lock = threading.Lock()
        # Also one that is forgotten without being closed leaves no process behind.
        self._ends = weakref.finalize(self, _close_all, self._idle)
        self._ends.atexit = False  # when the program ends they lose their input, and end too

    @property
    def label(self) -> str:
        return self._transport.label

    def close(self) -> None:
        with self._lock:  # not while a shell is being put back
            idle = self._idle[:]
            self._idle.clear()
            self._ends.detach()
        _close_all(idle)
        self._transport.close()

    def call(
        self,
        verb: str,
        args: Arguments = (),
        payloads: Sequence[Payload] = (),
        *,
        on_step: Callable[[str], None] | None = None,
        timeout: float,
        idle_timeout: float | None = None,
    ) -> Reply:
        """Runs a verb and waits for its end record."""
        wanted = Wanted(verb, args, tuple(payloads), timeout, idle_timeout)
        return self.chain(wanted).reply(on_step)

    def chain(self, *wanted: Wanted) -> Chain:
        """Sends them all, and waits for none."""
        calls = [Call(one) for one in wanted]
        shell = self._kept_shell() or self._new_shell(calls[0])
        return Chain(self._starter, shell, calls, self._ended)

    def _ended(self, chain: Chain, usable: bool) -> None:
        with self._lock:
            if usable and self._ends.alive:
                self._idle.append(chain.shell)
                return
        chain.shell.close()

    def _kept_shell(self) -> Shell | None:
        """One that is still there: a node, or its sshd, may have ended it meanwhile."""
        while True:
            with self._lock:
                shell = self._idle.pop() if self._idle else None
            if shell is None or not shell.channel.has_ended():
                return shell
            shell.close()

    def _new_shell(self, call: Call) -> Shell:
        try:
            with explained(self.label, call):
                return self._starter.start(self.script, call.wanted.verb, call.wanted.timeout)
        except NodeError as error:
            error.nothing_happened = True
            raise


def _close_all(shells: list[Shell]) -> None:
    while shells:
        shells.pop().close()
