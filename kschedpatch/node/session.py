"""Calls of the script on a node: a request and frames in, records out.

A session may be used by several threads at once. A call has a shell of its own while it runs; one
that ended well is kept for the next call, which then costs one round trip.
"""

from __future__ import annotations

import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from kschedpatch.model.printable import printable
from kschedpatch.node.become import Become
from kschedpatch.node.errors import (
    CallTimeout,
    ConnectionLost,
    NodeError,
    NodeSpokeGarbage,
    OutputTooLarge,
)
from kschedpatch.node.loader import Arguments
from kschedpatch.node.payload import Payload
from kschedpatch.node.records import (
    Blob,
    End,
    Fact,
    Malformed,
    Over,
    Record,
    RecordReader,
    Step,
    TooMuch,
)
from kschedpatch.node.sender import Sender
from kschedpatch.node.shell import LOOK_FIRST, Shell, Starter, over_sign
from kschedpatch.node.transport import Transport

_SLICE = 0.2
#: What a call says on stderr comes beside its end, not before it.
_STDERR_PATIENCE = 2.0


class Reply(NamedTuple):
    code: int
    facts: tuple[tuple[str, str], ...]
    """In the order they came; a key may stand several times."""
    blobs: dict[str, bytes]
    stderr: str
    """Its last lines, printable; complete where the code is not 0."""

    def first(self, key: str, default: str = "") -> str:
        return next((value for name, value in self.facts if name == key), default)

    def all(self, key: str) -> tuple[str, ...]:
        return tuple(value for name, value in self.facts if name == key)


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
        """Runs a verb and waits for its end record.

        ``timeout`` bounds the whole call (CallTimeout); ``idle_timeout`` the time in which nothing
        moves in either direction (ConnectionLost: verbs that take long say so by steps).
        """
        call = _Call(verb, timeout, idle_timeout)
        shell = self._kept_shell() or self._new_shell(call)
        try:
            lead = shell.lead(call.mark, verb, args)
            sender = Sender(shell.channel, lead, payloads)
            with self._explained(call):
                sender.start()
                reply, frames = self._collected(call, shell, sender, on_step)
        except BaseException:
            shell.close()
            raise
        shell.is_over(call.mark)
        # What was not read of the payloads stands before the next request.
        ends = any(payload.to_the_end for payload in payloads)
        if frames == len(payloads) and not ends and sender.has_sent_all():
            self._keep(shell)
        else:
            shell.close()
        return reply

    def _kept_shell(self) -> Shell | None:
        """One that is still there: a node, or its sshd, may have ended it meanwhile."""
        while True:
            with self._lock:
                shell = self._idle.pop() if self._idle else None
            if shell is None or not shell.channel.has_ended():
                return shell
            shell.close()

    def _keep(self, shell: Shell) -> None:
        with self._lock:
            if self._ends.alive:
                self._idle.append(shell)
                return
        shell.close()

    def _new_shell(self, call: _Call) -> Shell:
        try:
            with self._explained(call):
                return self._starter.start(self.script, call.verb, call.timeout)
        except NodeError as error:
            error.nothing_happened = True
            raise

    def _collected(
        self,
        call: _Call,
        shell: Shell,
        sender: Sender,
        on_step: Callable[[str], None] | None,
    ) -> tuple[Reply, int]:
        """The reply, and how many of the payloads were read."""
        facts: list[tuple[str, str]] = []
        blobs: dict[str, bytes] = {}
        for record in self._records(call, shell, sender):
            match record:
                case Fact(key, value):
                    facts.append((key, value))
                case Blob(key, data):
                    blobs[key] = data
                case Step(text):
                    if on_step is not None:
                        on_step(printable(text))
                case End(code, frames):
                    if sender.problem is not None:
                        raise sender.problem
                    stderr = self._starter.words(self._said(call, shell, whole=code != 0))
                    return Reply(code, tuple(facts), blobs, stderr), frames
                case Over(code):
                    if sender.problem is not None:
                        raise sender.problem
                    raise self._unsaid(call, code, self._said(call, shell, whole=True))
        if sender.problem is not None:
            raise sender.problem
        raise self._unsaid(call, shell.channel.exit_code(2), shell.stderr())

    def _said(self, call: _Call, shell: Shell, *, whole: bool) -> bytes:
        """On stderr; ``whole``: that is waited for."""
        sign = over_sign(call.mark)
        until = time.monotonic() + _STDERR_PATIENCE if whole else 0.0
        while sign not in (said := shell.stderr()) and time.monotonic() < until:
            time.sleep(0.005)
        return said.replace(sign, b"")

    def _unsaid(self, call: _Call, code: int | None, stderr: bytes) -> NodeError:
        what = f"«{call.verb}» ended without saying how it went"
        return self._starter.ended(call.verb, what, code, stderr)

    def _records(self, call: _Call, shell: Shell, sender: Sender) -> Iterator[Record]:
        heard = time.monotonic()
        while True:
            try:
                data = shell.channel.receive(_SLICE)
            except CallTimeout:
                now = time.monotonic()
                quiet = now - max(heard, sender.last_sent)
                if call.idle_timeout is not None and quiet > call.idle_timeout:
                    raise ConnectionLost(f"nothing was heard for {quiet:.0f} s") from None
                data = None
            if time.monotonic() > call.deadline:
                raise CallTimeout("")
            if data is None:
                continue
            if not data:
                return
            heard = time.monotonic()
            yield from call.reader.feed(data)

    @contextmanager
    def _explained(self, call: _Call) -> Iterator[None]:
        """Adds which node and which call to what the parts below have to say."""
        try:
            yield
        except ConnectionLost as error:
            if error.message.startswith(f"{self.label}: the connection was lost during"):
                raise
            why = error.message.removeprefix(f"{self.label}: the connection was lost: ")
            message = f"{self.label}: the connection was lost during «{call.verb}»: {why}"
            raise ConnectionLost(message, LOOK_FIRST) from None
        except CallTimeout as error:
            if error.message:
                raise
            message = f"{self.label}: «{call.verb}» did not end within {call.timeout:g} s"
            raise CallTimeout(message, LOOK_FIRST) from None
        except TooMuch as error:
            message = f"{self.label}: {error} during «{call.verb}»"
            hint = "log in by hand: does the shell's start-up file print without end?"
            raise OutputTooLarge(message, hint) from None
        except Malformed as error:
            message = f"{self.label}: {printable(str(error))} during «{call.verb}»"
            raise NodeSpokeGarbage(message, LOOK_FIRST) from None


class _Call:
    """What one call needs to remember."""

    def __init__(self, verb: str, timeout: float, idle_timeout: float | None) -> None:
        self.verb = verb
        self.mark = secrets.token_hex(16)
        self.reader = RecordReader(self.mark)
        self.timeout = timeout
        self.idle_timeout = idle_timeout
        self.deadline = time.monotonic() + timeout


def _close_all(shells: list[Shell]) -> None:
    while shells:
        shells.pop().close()
