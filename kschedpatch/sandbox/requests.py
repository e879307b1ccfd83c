"""How a stub asks the simulation: a directory with its words, and a FIFO that says it is there.

Plain sh can speak this without any program beyond mkdir, mkfifo and cat; stubs/ask.sh is the other
side. Answers come from a thread of their own where they take time (``systemctl start``).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kschedpatch.sandbox.simulation import Simulation


class Request(NamedTuple):
    tool: str
    arguments: tuple[str, ...]
    stdin: bytes


class Reply(NamedTuple):
    code: int = 0
    stdout: str = ""
    stderr: str = ""
    delay: float = 0.0
    """Simulated seconds that the tool takes."""
    effect: Callable[[], None] | None = None
    """What is so when it has ended, if nobody has killed it before."""


#: Answers at once, or hands back a function that may take its time in another thread.
Answer = Callable[[Request], Reply | Callable[[], Reply]]


class RequestDoor:
    def __init__(self, simulation: Simulation, directory: Path, answer: Answer) -> None:
        self._simulation = simulation
        self._directory = directory
        self._answer = answer
        self._path = directory / "requests"
        self._path.unlink(missing_ok=True)
        os.mkfifo(self._path, 0o600)
        # Open for writing as well: a FIFO without writers would be readable for ever.
        self._fifo = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
        self._rest = b""
        simulation.watch(self._fifo, self._arrived)

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        self._simulation.unwatch(self._fifo)
        os.close(self._fifo)
        for box in self._directory.glob("box.*"):
            self._reply(box, Reply(1, "", "the sandbox ended\n"))

    def _arrived(self) -> None:
        lines = (self._rest + os.read(self._fifo, 65536)).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._handle(self._directory / f"box.{line.decode()}")

    def _handle(self, box: Path) -> None:
        try:
            words = (box / "argv").read_bytes().split(b"\0")[:-1]
            stdin = (box / "stdin").read_bytes() if (box / "stdin").exists() else b""
        except OSError:
            return  # who asked is gone already
        tool, *arguments = [word.decode(errors="replace") for word in words]
        found = self._answer(Request(tool, tuple(arguments), stdin))
        if callable(found):
            thread = threading.Thread(target=self._in_thread, args=(box, found), daemon=True)
            thread.start()
        elif found.delay:
            self._simulation.later(found.delay, lambda: self._reply(box, found))
        else:
            self._reply(box, found)

    def _in_thread(self, box: Path, work: Callable[[], Reply]) -> None:
        self._reply(box, work())

    def _reply(self, box: Path, reply: Reply) -> None:
        try:
            if reply.stdout:
                (box / "stdout").write_text(reply.stdout, "utf-8")
            if reply.stderr:
                (box / "stderr").write_text(reply.stderr, "utf-8")
            done = os.open(box / "done", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return  # who asked was killed meanwhile
        try:
            if reply.effect is not None:
                reply.effect()
            os.write(done, b"%d\n" % reply.code)
        finally:
            os.close(done)
