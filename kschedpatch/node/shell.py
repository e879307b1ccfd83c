"""A shell on the node that has the script and waits for calls, and how it is started.

Until its loader is ready nothing has been sent that could do anything.
"""

from __future__ import annotations

import secrets
import time

from kschedpatch.model.printable import printable_lines
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
)
from kschedpatch.node.loader import Arguments, loader_words, request
from kschedpatch.node.quoting import command_line
from kschedpatch.node.records import Ready, RecordReader
from kschedpatch.node.tail import KEPT
from kschedpatch.node.transport import Channel, Transport

#: From the start of a command until its loader answers; sudo may ask a directory service meanwhile.
START_TIMEOUT = 60.0
_SLICE = 0.2
_PROMPT_SLICE = 0.05
LOOK_FIRST = "look at the node before anything else: kschedpatch status"


class Shell:
    """Serves one call at a time."""

    def __init__(self, channel: Channel, mark: str, script: str) -> None:
        self.channel = channel
        self._mark = mark
        self._script = b"%d\n%s" % (len(script), script.encode("ascii"))
        """To be sent before the first request."""
        self._last = b""

    def lead(self, call: str, verb: str, args: Arguments, *, follows: bool = False) -> bytes:
        """What is sent before the payloads of a call. ``follows``: only if the last ended well."""
        line = request(self._mark + "+" if follows else self._mark, call, verb, args)
        script, self._script = self._script, b""
        return script + line

    def is_over(self, call: str) -> None:
        """What it says from here on is of the next call."""
        self._last = over_sign(call)

    def stderr(self) -> bytes:
        """Of the call that runs."""
        said = self.channel.stderr_so_far()
        if not self._last:
            return said
        _, sign, rest = said.rpartition(self._last)
        if sign:
            return rest
        # Not there yet: these are words of the call before. Or pushed out by many of this one.
        return said if len(said) >= KEPT else b""

    def close(self) -> None:
        self.channel.close()


def over_sign(call: str) -> bytes:
    """Behind what a call says on stderr."""
    return f"@{call} over\n".encode()


class Starter:
    """Starts shells as root, with a password where sudo asks for one."""

    def __init__(self, transport: Transport, become: Become) -> None:
        self._transport = transport
        self._become = become
        self._asks_password = False
        self._refused: BecomeFailed | None = None

    @property
    def label(self) -> str:
        return self._transport.label

    def start(self, script: str, verb: str, timeout: float) -> Shell:
        """``verb`` is what it is wanted for, and only told."""
        if self._refused is not None:  # a second wrong password may lock the account
            raise BecomeFailed(self._refused.message, self._refused.hint)
        deadline = time.monotonic() + timeout
        if not self._asks_password:
            channel, stderr = self._attempt(verb, deadline, None)
            if channel is not None:
                return Shell(*channel, script)
            if self._become.password is None or not wants_password(stderr):
                raise self._not_allowed(stderr)
            self._asks_password = True
        channel, stderr = self._attempt(verb, deadline, new_prompt())
        if channel is None:
            raise self._not_allowed(stderr)
        return Shell(*channel, script)

    def _attempt(
        self, verb: str, deadline: float, prompt: str | None
    ) -> tuple[tuple[Channel, str] | None, bytes]:
        """The channel and the mark of a loader that is ready; or None and what sudo said when it
        gave up."""
        mark = secrets.token_hex(16)
        words = loader_words(mark)
        channel = self._transport.open(command_line(elevated(self._become, words, prompt)))
        try:
            if self._is_ready(channel, mark, deadline, prompt):
                return (channel, mark), b""
            stderr = self._stderr_of_sudo(verb, channel)
        except BaseException:
            channel.close()
            raise
        channel.close()
        return None, stderr

    def _stderr_of_sudo(self, verb: str, channel: Channel) -> bytes:
        if self._become.elevation is Elevation.NONE or channel.exit_code(5) is None:
            code, what = channel.exit_code(2), "its shell ended before the script was sent"
            stderr = b"" if code is None else channel.stderr_so_far()
            raise self.ended(verb, what, code, stderr)
        return channel.stderr_so_far()

    def _is_ready(self, channel: Channel, mark: str, deadline: float, prompt: str | None) -> bool:
        reader = RecordReader(mark)
        began = time.monotonic()
        deadline = min(deadline, began + START_TIMEOUT)
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
                raise self._silent(channel, time.monotonic() - began, prompt)
            try:
                data = channel.receive(_SLICE if prompt is None else _PROMPT_SLICE)
            except CallTimeout:
                continue
            if not data:
                return False
            if any(isinstance(record, Ready) for record in reader.feed(data)):
                return True

    def _silent(
        self, channel: Channel, spent: float, prompt: str | None
    ) -> BecomeFailed | CallTimeout:
        if prompt is not None:
            said = self.words(channel.stderr_so_far())
            return BecomeFailed(
                f"{self.label}: sudo neither starts nor asks for the password: {said}",
                "a sudo that asks for something else (a second factor) can't be used; "
                "allow it without a password (NOPASSWD), or log in as root",
            )
        return CallTimeout(
            f"{self.label}: no answer to the first command within {spent:.0f} s",
            "log in by hand: does the shell's start-up file wait for something?",
        )

    def _not_allowed(self, stderr: bytes) -> BecomeFailed:
        said = self.words(stderr).replace("\n", "; ") or "it says nothing"
        hint = "allow it without a password (NOPASSWD), or log in as root"
        if self._become.password is None:
            hint = "give the password with -K, or " + hint
        return BecomeFailed(f"{self.label}: sudo refuses: {said}", hint)

    def ended(self, verb: str, what: str, code: int | None, stderr: bytes) -> NodeError:
        if code is None:
            message = f"{self.label}: the connection was lost during «{verb}»: {what}"
            return ConnectionLost(message, LOOK_FIRST)
        said = self.words(stderr)
        message = f"{self.label}: {what} (exit code {code})" + (f": {said}" if said else "")
        hint = "log in by hand and run `sh -c true`: a forced command or a restricted shell?"
        return NodeSpokeGarbage(message, hint)

    def words(self, stderr: bytes) -> str:
        text = printable_lines(stderr)
        return self._become.password.redacted(text) if self._become.password else text
