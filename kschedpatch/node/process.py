"""A channel to a process of this machine: the local shell, or the system's ssh."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from kschedpatch.node.errors import CallTimeout, ConnectionLost
from kschedpatch.node.tail import Tail

_SLICE_MS = 200
_CHUNK = 64 * 1024


class ProcessChannel:
    """``lost_code``: the exit code that means that the way to the command broke (ssh: 255)."""

    def __init__(self, label: str, arguments: Sequence[str], lost_code: int | None = None) -> None:
        self._label = label
        self._lost_code = lost_code
        # A session of its own: Ctrl-C at the terminal is this program's business alone.
        self._process = subprocess.Popen(  # noqa: S603  arguments as a list, from this package
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._closed = threading.Event()
        self._stdin_lock = threading.Lock()
        self._tail = Tail()
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True)
        self._drain.start()
        os.set_blocking(self._stdin, False)

    @property
    def _stdin(self) -> int:
        assert self._process.stdin is not None  # noqa: S101  it is a pipe
        return self._process.stdin.fileno()

    def _drain_stderr(self) -> None:
        stream = self._process.stderr
        assert stream is not None  # noqa: S101  it is a pipe
        with suppress(OSError, ValueError):
            while data := os.read(stream.fileno(), _CHUNK):
                self._tail.add(data)
        stream.close()

    def send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            with self._stdin_lock:
                if self._closed.is_set():
                    raise self._lost("it was closed")
                try:
                    rest = rest[os.write(self._stdin, rest[:_CHUNK]) :]
                    continue
                except BlockingIOError:
                    poll = select.poll()
                    poll.register(self._stdin, select.POLLOUT)
                except (OSError, ValueError):
                    raise self._lost("the command no longer reads") from None
            poll.poll(_SLICE_MS)

    def close_stdin(self) -> None:
        with self._stdin_lock, suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    def receive(self, timeout: float) -> bytes:
        if self._closed.is_set():
            raise self._lost("it was closed")
        stream = self._process.stdout
        assert stream is not None  # noqa: S101  it is a pipe
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLIN)
        if not poll.poll(max(0, int(timeout * 1000))):
            raise CallTimeout("")  # who calls knows what it waited for
        data = os.read(stream.fileno(), _CHUNK)
        if not data and self._lost_code is not None and self.exit_code(5) == self._lost_code:
            self._drain.join(1)
            said = self._tail.value().decode("utf-8", "replace").strip().splitlines()
            raise self._lost(said[-1] if said else "ssh ended")
        return data

    def _lost(self, why: str) -> ConnectionLost:
        message = f"{self._label}: the connection was lost: {why}"
        return ConnectionLost(message, "see how it stands: kschedpatch status")

    def stderr_so_far(self) -> bytes:
        return self._tail.value()

    def has_ended(self) -> bool:
        return self._closed.is_set() or self._process.poll() is not None

    def exit_code(self, timeout: float) -> int | None:
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        # What it said last may still be on its way; a child it left behind may hold the pipe open.
        self._drain.join(0.2)
        return code

    def close(self) -> None:
        if self._closed.is_set():
            return
        self._closed.set()
        self.close_stdin()
        # As over SSH, the command loses its pipes and is left to itself for a moment; one that does
        # nothing else but wait for input ends by that.
        deadline = time.monotonic() + 0.5
        while self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if self._lost_code is not None and self._process.poll() is None:
            with suppress(OSError):  # ssh itself, not the command at its other end
                os.killpg(self._process.pid, signal.SIGTERM)
                self._process.wait(1)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._drain.join(0.2)
