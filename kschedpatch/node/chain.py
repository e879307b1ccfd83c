"""Calls of the script on a node, one behind the other on one shell: requests and frames in, records
out.

The requests are sent together. The node begins the next call by itself when the one before has
ended with code 0; nobody has to hear of that first, which would cost a round trip.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kschedpatch.model.printable import printable
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

_SLICE = 0.2
#: What a call says on stderr comes beside its end, not before it.
_STDERR_PATIENCE = 2.0


class Wanted(NamedTuple):
    """A call that is to be made."""

    verb: str
    args: Arguments
    payloads: tuple[Payload, ...]
    timeout: float
    """Of the whole call (CallTimeout), from the end of the one before."""
    idle_timeout: float | None = None
    """In which nothing moves in either direction (ConnectionLost: verbs that take long say so by
    steps)."""


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


class Chain:
    def __init__(
        self,
        starter: Starter,
        shell: Shell,
        calls: list[Call],
        ended: Callable[[Chain, bool], None],
    ) -> None:
        self.shell = shell
        self._starter = starter
        self._calls = calls
        self._ended = ended
        """Told at the end of the last call, and whether the shell can serve another one."""
        self._reads_to_the_end = any(p.to_the_end for call in calls for p in call.wanted.payloads)
        self._unread = b""
        try:
            parts = [
                (
                    shell.lead(call.mark, call.wanted.verb, call.wanted.args, follows=number > 0),
                    call.wanted.payloads,
                )
                for number, call in enumerate(calls)
            ]
        except BaseException:
            ended(self, False)
            raise
        self._sender = Sender(shell.channel, parts)
        self._sender.start()

    @property
    def goes_on(self) -> bool:
        return bool(self._calls)

    @property
    def verb(self) -> str:
        """Of the call whose reply is the next."""
        return self._calls[0].wanted.verb

    def reply(self, on_step: Callable[[str], None] | None = None) -> Reply:
        """Waits for the end of the next call. One that does not end with code 0 is the last."""
        call = self._calls.pop(0)
        try:
            with explained(self._starter.label, call):
                call.begin()
                reply, frames = self._collected(call, on_step)
        except BaseException:
            self.drop()
            raise
        self.shell.is_over(call.mark)
        whole = frames == len(call.wanted.payloads)
        if self._calls and reply.code == 0 and whole:
            self._unread = call.reader.unread()
            return reply
        # What was not read of the payloads stands before the next request.
        usable = not self._calls and whole and not self._reads_to_the_end
        self._ended(self, usable and self._sender.has_sent_all())
        return reply

    def drop(self) -> None:
        """Nobody waits for what is left of it."""
        self._ended(self, False)

    def _collected(
        self,
        call: Call,
        on_step: Callable[[str], None] | None,
    ) -> tuple[Reply, int]:
        """The reply, and how many of the payloads were read."""
        sender = self._sender
        facts: list[tuple[str, str]] = []
        blobs: dict[str, bytes] = {}
        for record in self._records(call):
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
                    stderr = self._starter.words(self._said(call, whole=code != 0))
                    return Reply(code, tuple(facts), blobs, stderr), frames
                case Over(code):
                    if sender.problem is not None:
                        raise sender.problem
                    raise self._unsaid(call, code, self._said(call, whole=True))
        if sender.problem is not None:
            raise sender.problem
        raise self._unsaid(call, self.shell.channel.exit_code(2), self.shell.stderr())

    def _said(self, call: Call, *, whole: bool) -> bytes:
        """On stderr; ``whole``: that is waited for."""
        sign = over_sign(call.mark)
        until = time.monotonic() + _STDERR_PATIENCE if whole else 0.0
        while sign not in (said := self.shell.stderr()) and time.monotonic() < until:
            time.sleep(0.005)
        return said.replace(sign, b"")

    def _unsaid(self, call: Call, code: int | None, stderr: bytes) -> NodeError:
        what = f"«{call.wanted.verb}» ended without saying how it went"
        return self._starter.ended(call.wanted.verb, what, code, stderr)

    def _records(self, call: Call) -> Iterator[Record]:
        heard, idle_timeout = time.monotonic(), call.wanted.idle_timeout
        yield from call.reader.feed(self._unread)
        while True:
            try:
                data = self.shell.channel.receive(_SLICE)
            except CallTimeout:
                now = time.monotonic()
                quiet = now - max(heard, self._sender.last_sent)
                if idle_timeout is not None and quiet > idle_timeout:
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
def explained(label: str, call: Call) -> Iterator[None]:
    """Adds which node and which call to what the parts below have to say."""
    try:
        yield
    except ConnectionLost as error:
        if error.message.startswith(f"{label}: the connection was lost during"):
            raise
        why = error.message.removeprefix(f"{label}: the connection was lost: ")
        message = f"{label}: the connection was lost during «{call.wanted.verb}»: {why}"
        raise ConnectionLost(message, LOOK_FIRST) from None
    except CallTimeout as error:
        if error.message:
            raise
        message = f"{label}: «{call.wanted.verb}» did not end within {call.wanted.timeout:g} s"
        raise CallTimeout(message, LOOK_FIRST) from None
    except TooMuch as error:
        message = f"{label}: {error} during «{call.wanted.verb}»"
        hint = "log in by hand: does the shell's start-up file print without end?"
        raise OutputTooLarge(message, hint) from None
    except Malformed as error:
        message = f"{label}: {printable(str(error))} during «{call.wanted.verb}»"
        raise NodeSpokeGarbage(message, LOOK_FIRST) from None


class Call:
    """What one call needs to remember."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.mark = secrets.token_hex(16)
        self.reader = RecordReader(self.mark)
        self.begin()

    def begin(self) -> None:
        self.deadline = time.monotonic() + self.wanted.timeout
