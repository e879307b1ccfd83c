"""What a way to a node has to offer. Everything above it is the same over SSH and on this machine.

A transport may be used by several threads at once, each with a channel of its own: a heartbeat
opens one while a long call runs in another. A channel has one reader; another thread
may send on it.
"""

from __future__ import annotations

from typing import Protocol


class Channel(Protocol):
    """One remote command without a terminal. Its stderr is drained all the time."""

    def send(self, data: bytes) -> None:
        """All of it to the command's stdin. Blocks while the command does not read; ``close`` of
        another thread ends that with ConnectionLost."""

    def close_stdin(self) -> None: ...

    def receive(self, timeout: float) -> bytes:
        """The next bytes of stdout, ``b""`` at its end; CallTimeout or ConnectionLost otherwise."""

    def stderr_so_far(self) -> bytes:
        """The last 64 KiB of it."""

    def has_ended(self) -> bool:
        """As far as this side knows, without waiting."""

    def exit_code(self, timeout: float) -> int | None:
        """None where it is not known (still running, or the connection went)."""

    def close(self) -> None:
        """Leaves the command to itself; never blocks for long. May be called again."""


class Transport(Protocol):
    @property
    def label(self) -> str:
        """The node as the operator named it."""

    def open(self, command: str) -> Channel:
        """Starts a command in the remote user's shell."""

    def close(self) -> None: ...
