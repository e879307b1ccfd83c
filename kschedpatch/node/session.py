"""Calls of the script on a node: one command a call, frames in, records out.

A session may be used by several threads at once; each call has a channel of its own.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple

from kschedpatch.model.printable import printable, printable_lines
from kschedpatch.node.become import (
    Become,
    Elevation,
    elevated,
    new_prompt,
    times_asked,
    wants_password,
)
from kschedpatch.node.errors import (
    BecomeFailed,
    CallTimeout,
    ConnectionLost,
    NodeError,
    NodeSpokeGarbage,
    OutputTooLarge,
)
from kschedpatch.node.loader import Arguments, call_words
from kschedpatch.node.payload import Payload, bytes_payload
from kschedpatch.node.quoting import command_line
from kschedpatch.node.records import (
    Blob,
    End,
    Fact,
    Malformed,
    Ready,
    Record,
    RecordReader,
    Step,
    TooMuch,
)
from kschedpatch.node.sender import Sender
from kschedpatch.node.transport import Channel, Transport

#: From the start of a command until its loader answers; sudo may ask a directory service meanwhile.
START_TIMEOUT = 60.0
_SLICE = 0.2
_PROMPT_SLICE = 0.05
_LOOK_FIRST = "look at the node before anything else: kschedpatch status"


class Reply(NamedTuple):
    code: int
    facts: tuple[tuple[str, str], ...]
    """In the order they came; a key may stand several times."""
    blobs: dict[str, bytes]
    stderr: str
    """Its last lines, printable."""

    def first(self, key: str, default: str = "") -> str:
        return next((value for name, value in self.facts if name == key), default)

    def all(self, key: str) -> tuple[str, ...]:
        return tuple(value for name, value in self.facts if name == key)


class Session:
    def __init__(self, transport: Transport, become: Become, script: str) -> None:
        self._transport = transport
        self._become = become
        self._script = bytes_payload(script.encode("ascii"))
        self._asks_password = False
        self._refused: BecomeFailed | None = None

    @property
    def label(self) -> str:
        return self._transport.label

    def close(self) -> None:
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
        if self._refused is not None:  # a second wrong password may lock the account
            raise BecomeFailed(self._refused.message, self._refused.hint)
        mark = secrets.token_hex(16)
        words = call_words(mark, verb, args)
        call = _Call(self.label, verb, RecordReader(mark), timeout, idle_timeout)
        try:
            channel = self._started(call, words)
        except NodeError as error:
            error.nothing_happened = True
            raise
        with closing(channel), self._explained(call):
            sender = Sender(channel, (self._script, *payloads))
            sender.start()
            return self._collected(call, channel, sender, on_step)

    # From here to the loader's ready record nothing happens on the node.

    def _started(self, call: _Call, words: Sequence[str]) -> Channel:
        if not self._asks_password:
            channel, stderr = self._attempt(call, words, None)
            if channel is not None:
                return channel
            if self._become.password is None or not wants_password(stderr):
                raise self._not_allowed(stderr)
            self._asks_password = True
        channel, stderr = self._attempt(call, words, new_prompt())
        if channel is None:
            raise self._not_allowed(stderr)
        return channel

    def _attempt(
        self, call: _Call, words: Sequence[str], prompt: str | None
    ) -> tuple[Channel | None, bytes]:
        """A channel whose loader is ready; or None and what sudo said when it gave up."""
        channel = self._transport.open(command_line(elevated(self._become, words, prompt)))
        try:
            with self._explained(call):
                if self._is_ready(call, channel, prompt):
                    return channel, b""
                stderr = self._stderr_of_sudo(call, channel)
        except BaseException:
            channel.close()
            raise
        channel.close()
        return None, stderr

    def _stderr_of_sudo(self, call: _Call, channel: Channel) -> bytes:
        if self._become.elevation is Elevation.NONE or channel.exit_code(5) is None:
            raise self._garbage(call, channel, "its shell ended before the script was sent")
        return channel.stderr_so_far()

    def _is_ready(self, call: _Call, channel: Channel, prompt: str | None) -> bool:
        deadline = min(call.deadline, time.monotonic() + START_TIMEOUT)
        password_sent = False
        while True:
            asked = times_asked(channel.stderr_so_far(), prompt) if prompt is not None else 0
            if asked > 1:
                self._refused = BecomeFailed(
                    f"{self.label}: sudo does not take the password",
                    "nothing was done; start again and give the password of the user you log in as",
                )
                raise self._refused
            if asked and not password_sent and self._become.password is not None:
                password_sent = True
                channel.send(self._become.password.reveal().encode() + b"\n")
            if time.monotonic() > deadline:
                raise self._silent(call, channel, prompt)
            try:
                data = channel.receive(_SLICE if prompt is None else _PROMPT_SLICE)
            except CallTimeout:
                continue
            if not data:
                return False
            if any(isinstance(record, Ready) for record in call.reader.feed(data)):
                return True

    def _silent(self, call: _Call, channel: Channel, prompt: str | None) -> NodeError:
        said = self._stderr(channel.stderr_so_far())
        if prompt is not None:
            return BecomeFailed(
                f"{self.label}: sudo neither starts nor asks for the password: {said}",
                "a sudo that asks for something else (a second factor) can't be used; "
                "allow it without a password (NOPASSWD), or log in as root",
            )
        return CallTimeout(
            f"{self.label}: no answer to the first command within {call.spent():.0f} s",
            "log in by hand: does the shell's start-up file wait for something?",
        )

    def _not_allowed(self, stderr: bytes) -> BecomeFailed:
        said = self._stderr(stderr).replace("\n", "; ") or "it says nothing"
        hint = "allow it without a password (NOPASSWD), or log in as root"
        if self._become.password is None:
            hint = "give the password with -K, or " + hint
        return BecomeFailed(f"{self.label}: sudo refuses: {said}", hint)

    # From here on the script runs.

    def _collected(
        self,
        call: _Call,
        channel: Channel,
        sender: Sender,
        on_step: Callable[[str], None] | None,
    ) -> Reply:
        facts: list[tuple[str, str]] = []
        blobs: dict[str, bytes] = {}
        for record in self._records(call, channel, sender):
            match record:
                case Fact(key, value):
                    facts.append((key, value))
                case Blob(key, data):
                    blobs[key] = data
                case Step(text):
                    if on_step is not None:
                        on_step(printable(text))
                case End(code):
                    channel.exit_code(2)  # what it says on stderr comes beside, not before
                    if sender.problem is not None:
                        raise sender.problem
                    stderr = self._stderr(channel.stderr_so_far())
                    return Reply(code, tuple(facts), blobs, stderr)
        if sender.problem is not None:
            raise sender.problem
        raise self._garbage(call, channel, f"«{call.verb}» ended without saying how it went")

    def _records(self, call: _Call, channel: Channel, sender: Sender) -> Iterator[Record]:
        yield from call.reader.feed(b"")  # what came together with the ready record
        heard = time.monotonic()
        while True:
            try:
                data = channel.receive(_SLICE)
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
            why = error.message.removeprefix(f"{self.label}: the connection was lost: ")
            message = f"{self.label}: the connection was lost during «{call.verb}»: {why}"
            raise ConnectionLost(message, _LOOK_FIRST) from None
        except CallTimeout as error:
            if error.message:
                raise
            message = f"{self.label}: «{call.verb}» did not end within {call.timeout:g} s"
            raise CallTimeout(message, _LOOK_FIRST) from None
        except TooMuch as error:
            message = f"{self.label}: {error} during «{call.verb}»"
            hint = "log in by hand: does the shell's start-up file print without end?"
            raise OutputTooLarge(message, hint) from None
        except Malformed as error:
            message = f"{self.label}: {printable(str(error))} during «{call.verb}»"
            raise NodeSpokeGarbage(message, _LOOK_FIRST) from None

    def _garbage(self, call: _Call, channel: Channel, what: str) -> NodeError:
        code = channel.exit_code(2)
        if code is None:
            message = f"{self.label}: the connection was lost during «{call.verb}»: {what}"
            return ConnectionLost(message, _LOOK_FIRST)
        said = self._stderr(channel.stderr_so_far())
        message = f"{self.label}: {what} (exit code {code})" + (f": {said}" if said else "")
        hint = "log in by hand and run `sh -c true`: a forced command or a restricted shell?"
        return NodeSpokeGarbage(message, hint)

    def _stderr(self, data: bytes) -> str:
        text = printable_lines(data)
        return self._become.password.redacted(text) if self._become.password else text


class _Call:
    """What one call needs to remember."""

    def __init__(
        self,
        label: str,
        verb: str,
        reader: RecordReader,
        timeout: float,
        idle_timeout: float | None,
    ) -> None:
        self.label = label
        self.verb = verb
        self.reader = reader
        self.timeout = timeout
        self.idle_timeout = idle_timeout
        self._start = time.monotonic()
        self.deadline = self._start + timeout

    def spent(self) -> float:
        return time.monotonic() - self._start
