"""Takes a test run's cluster down when the run itself no longer can.

A process of its own, in its own session: it notices the end of the tests by
the end of a pipe, so it also works when they were killed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from .cluster import current_run
from .teardown import exclusive, take_down

_DONE = b"done\n"
_ROOT = Path(__file__).parents[3]


class Reaper:
    """The tests' end of the pipe."""

    def __init__(self, run: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.cluster", "reap", run],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """Everything was taken down in order."""
        self._process.communicate(_DONE)


def main(run: str) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read() == _DONE:
        return 0
    with exclusive(timeout=600):
        # A later run may have cleaned up already, and have its own cluster there.
        if current_run() == run:
            take_down()
    return 0
