"""SSH by paramiko: one connection to a node, a channel for each command."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from kschedpatch.node.errors import CallTimeout, ConnectionLost
from kschedpatch.node.sshlibrary import paramiko
from kschedpatch.node.tail import Tail

_CHUNK = 64 * 1024
_SLICE = 0.2
_OPEN_TIMEOUT = 30.0


class ParamikoTransport:
    def __init__(self, label: str, client: paramiko.Transport, release: Callable[[], None]) -> None:
        self.label = label
        self._client = client
        self._release = release

    def open(self, command: str) -> ParamikoChannel:
        try:
            channel = self._client.open_session(timeout=_OPEN_TIMEOUT)
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise _lost(self.label, _words(error)) from None
        # Waiting for the answer has no time limit of its own; closing the channel ends it.
        alarm = threading.Timer(_OPEN_TIMEOUT, channel.close)
        alarm.daemon = True
        alarm.start()
        try:
            channel.exec_command(command.encode())
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise _lost(self.label, _words(error)) from None
        finally:
            alarm.cancel()
        return ParamikoChannel(self.label, channel)

    def close(self) -> None:
        self._release()


class ParamikoChannel:
    def __init__(self, label: str, channel: paramiko.Channel) -> None:
        self._label = label
        self._channel = channel
        # For all three directions: each wait looks now and then whether it still makes sense.
        channel.settimeout(_SLICE)
        self._tail = Tail()
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True)
        self._drain.start()

    def _drain_stderr(self) -> None:
        # stdout and stderr share a window: what is not read here would stop the other.
        while True:
            try:
                data = self._channel.recv_stderr(_CHUNK)
            except TimeoutError:
                continue
            except (OSError, EOFError, paramiko.SSHException):
                return
            if not data:
                return
            self._tail.add(data)

    def send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                sent = self._channel.send(bytes(rest[:_CHUNK]))
            except TimeoutError:
                if self._channel.closed:
                    raise _lost(self._label, "the command no longer reads") from None
                continue
            except (OSError, EOFError, paramiko.SSHException) as error:
                raise _lost(self._label, _words(error)) from None
            if sent == 0:
                raise _lost(self._label, "the command no longer reads")
            rest = rest[sent:]

    def close_stdin(self) -> None:
        with suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.shutdown_write()

    def receive(self, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        while True:
            try:
                data = self._channel.recv(_CHUNK)
            except TimeoutError:
                if time.monotonic() < deadline:
                    continue
                raise CallTimeout("") from None  # who calls knows what it waited for
            except (OSError, EOFError, paramiko.SSHException) as error:
                raise _lost(self._label, _words(error)) from None
            # Without an end of file from the other side the whole connection went.
            if not data and not self._channel.eof_received and self._channel.exit_status == -1:
                reason = self._channel.get_transport().get_exception()
                raise _lost(self._label, _words(reason) if reason else "the other side hung up")
            return data

    def stderr_so_far(self) -> bytes:
        return self._tail.value()

    def has_ended(self) -> bool:
        channel = self._channel
        return bool(channel.closed or channel.eof_received or channel.exit_status_ready())

    def exit_code(self, timeout: float) -> int | None:
        if not self._channel.status_event.wait(timeout):
            return None
        self._drain.join(_SLICE)
        if self._channel.exit_status != -1:
            return self._channel.exit_status
        # Ended by a signal: the server says that in another way, which paramiko does not tell.
        ended = self._channel.eof_received and self._channel.get_transport().is_active()
        return -1 if ended else None

    def close(self) -> None:
        # It sends a message, and on a connection that is stuck that may block for long.
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(1)

    def _close(self) -> None:
        with suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.close()


def _words(error: BaseException) -> str:
    if isinstance(error, EOFError):
        return "the other side hung up"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _lost(label: str, why: str) -> ConnectionLost:
    message = f"{label}: the connection was lost: {why}"
    return ConnectionLost(message, "see how it stands: kschedpatch status")
