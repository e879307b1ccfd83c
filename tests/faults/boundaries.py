"""Boundaries on the node: every command that changes something, counted by stubs in its PATH.

The stub whose turn it is stops, before or after its command, until the fault has happened. What
only reads is not counted: the dead man's looks would make the numbers differ from run to run.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from kschedpatch.sandbox.node import SandboxNode

COUNTED = ("mv", "ln", "rm", "sync", "mkdir", "chmod", "chown", "cp", "kill", "systemctl")

_STUB = """#!/bin/sh
# Counts, and stops at the chosen boundary until the fault has happened.
sim=${0%/*}/../../sim
real=REAL
[ -e "$sim/countdown" ] || exec "$real" "$@"
# The sandbox's own tools talk with it by files.
case $* in */sim/box.*) exec "$real" "$@" ;; esac
read -r left moment only <"$sim/countdown"
case ${0##*/} in ${only:-*}) ;; *) exec "$real" "$@" ;; esac
left=$((left - 1))
echo "$left $moment $only" >"$sim/countdown"
[ "$left" = 0 ] || exec "$real" "$@"
code=0
[ "$moment" = before ] || { "$real" "$@"; code=$?; }
echo "$$ ${0##*/} $*" >"$sim/hit.new"
/bin/mv "$sim/hit.new" "$sim/hit"
while [ ! -e "$sim/go" ]; do /bin/sleep 0.01; done
[ "$moment" = before ] || exit "$code"
exec "$real" "$@"
"""


class Boundaries:
    """Of one node. ``strike`` is called with the stopped process's id."""

    def __init__(self, node: SandboxNode) -> None:
        self._node = node
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.hit = ""
        """Which command, with its arguments; empty: none was reached."""
        tools = node.path("/bin")
        for name in COUNTED:
            own, real = tools / name, shutil.which(name)
            if own.exists():
                own.rename(tools / f".{name}")
                real = str(tools / f".{name}")
            if real is None:
                continue
            own.write_text(_STUB.replace("REAL", real), "utf-8")
            own.chmod(0o755)

    def _file(self, name: str) -> Path:
        return self._node.sim / name

    def count_down(
        self, number: int, moment: str, strike: Callable[[int], None], only: str = ""
    ) -> None:
        """``only``: of all commands just this one counts."""
        for name in ("hit", "go"):
            self._file(name).unlink(missing_ok=True)
        self.hit = ""
        self._ended.clear()
        self._file("countdown").write_text(f"{number} {moment} {only}\n")
        self._thread = threading.Thread(target=self._wait, args=(strike,), daemon=True)
        self._thread.start()

    def _wait(self, strike: Callable[[int], None]) -> None:
        while not self._ended.wait(0.01):
            if self._file("hit").exists():
                pid, _, words = self._file("hit").read_text().strip().partition(" ")
                self.hit = words.replace(str(self._node.root), "")
                self._file("countdown").unlink(missing_ok=True)
                strike(int(pid))
                self._file("go").touch()
                return

    def stop(self) -> None:
        """No further stop; one that waits goes on."""
        self._file("countdown").unlink(missing_ok=True)
        self._ended.set()
        if self._thread is not None:
            self._thread.join(30)
        self._file("go").touch()
