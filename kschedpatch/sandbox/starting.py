"""Starts the process that keeps a sandbox, and holds it until it is let go or ended."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from kschedpatch.sandbox import needs, residence

_KEEPER = "kschedpatch.sandbox.keeper"
_PATIENCE = 60.0
_END = 20.0


class NotStarted(Exception):
    """No sandbox came up, and nothing of one is left; the text says why."""


def check(directory: Path) -> None:
    """Says everything that is missing before anything is started."""
    found = needs.lacks(needs.look_at_machine(), needs.look_at_place(directory))
    if found:
        raise NotStarted("\n".join(map(str, found)))


class Held:
    """A sandbox that ends with its holder. ``directory`` is empty, and goes with it."""

    def __init__(self, directory: Path, nodes: int, speed: int) -> None:
        self.directory = directory
        self._is_held = True
        # -P: nothing of the directory that the user happens to be in is imported.
        words = [sys.executable, "-P", "-m", _KEEPER, directory, nodes, speed]
        with (directory / "sandbox.log").open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 (this very program)
                [str(word) for word in words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                start_new_session=True,  # Ctrl-C is its holder's business
            )

    def __enter__(self) -> Held:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_held:
            self.end()

    def wait_ready(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 (for the types)
        readable, _, _ = select.select([self._process.stdout], [], [], _PATIENCE)
        line = self._process.stdout.readline() if readable else b""
        if not line:
            log = self.directory / "sandbox.log"
            said = log.read_text("utf-8", "replace").strip() if log.exists() else ""
            last = said.splitlines()[-1] if said else f"no answer within {_PATIENCE:g} s"
            raise NotStarted(f"the nodes did not come up: {last}")
        problem = json.loads(line).get("problem")
        if problem:
            raise NotStarted(f"the nodes did not come up: {problem}")

    def let_go(self) -> None:
        """It goes on alone, until it is ended by ``residence.end``."""
        assert self._process.stdin is not None  # noqa: S101 (for the types)
        self._process.stdin.write(residence.STAY + b"\n")
        self._process.stdin.close()
        self._is_held = False
        # Not a child to be waited for any more: no warning when this value goes.
        self._process.returncode = 0

    def end(self) -> bool:
        """False where something of it is left."""
        self._is_held = False
        if self._process.returncode is None:
            assert self._process.stdin is not None  # noqa: S101 (for the types)
            self._process.stdin.close()
            try:
                self._process.wait(_END)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        return not self.directory.exists() or residence.remove(self.directory)
