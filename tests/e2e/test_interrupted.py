"""However a run ends, nothing of it stays on this machine.

Each of these starts a run of its own, as people do, and ends it at a moment that it sees in the
run's own output.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .cluster.console import wait_until
from .cluster.settings import why_not_here
from .cluster.teardown import leftovers, loop_devices

pytestmark = [pytest.mark.full, pytest.mark.alone]

ROOT = Path(__file__).parents[2]
BOOTING = "booting Kubernetes"
BOOTED = "cp1: booted"
UP = "the cluster is up"


class Run:
    """A pytest process of its own process group, as a terminal would start it."""

    def __init__(self, test: str, minor: str) -> None:
        self.said = ""
        of_one_node = ("--nodes", "1", "--kubernetes", minor)
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "-s"),
                *(f"tests/e2e/interrupted_run.py::{test}", *of_one_node),
            ],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said += line

    def wait_said(self, words: str) -> None:
        # Long enough for compilers: these tests may be the first to need a version.
        wait_until(f"{words!r} in the run's output", lambda: words in self.said, 1800)

    def interrupt(self) -> None:
        """Ctrl-C: the terminal tells every process of the group."""
        os.killpg(self._process.pid, signal.SIGINT)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, timeout: float = 180) -> int:
        code = self._process.wait(timeout)
        # Whatever holds the other end of its output is a process that was left behind.
        self._reader.join(timeout=60)
        assert not self._reader.is_alive(), "something still holds the run's output"
        return code

    def kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)


@pytest.fixture
def minor(request: pytest.FixtureRequest) -> Iterator[str]:
    reason = why_not_here()
    if reason:
        pytest.skip(reason)
    assert leftovers() == [], "something of the rig is here already (make cluster-down)"
    before = settings_of_the_machine()
    yield str(request.config.getoption("--kubernetes"))
    # Where this test itself is cut short, its run is killed, and the reaper's turn comes.
    wait_until("the reaper's end", lambda: not reapers(), 120)
    assert leftovers() == []
    assert settings_of_the_machine() == before


def settings_of_the_machine() -> dict[str, str]:
    routes = subprocess.run(["ip", "route"], capture_output=True, text=True, check=True).stdout
    mounts = Path("/proc/self/mountinfo").read_text()
    return {
        "routes": routes,
        "mounts": "\n".join(sorted(line.split(" ")[4] for line in mounts.splitlines())),
        "inotify": Path("/proc/sys/fs/inotify/max_user_instances").read_text(),
        "loop devices": "\n".join(loop_devices()),
    }


def reapers() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue  # ended meanwhile
        if b"tests.e2e.cluster" in words and b"reap" in words:
            found.append(path.parent.name)
    return found


@pytest.mark.parametrize("moment", [BOOTING, BOOTED, UP])
def test_control_c(minor: str, moment: str) -> None:
    run = Run("test_waits", minor)
    try:
        run.wait_said(moment)
        run.interrupt()
        assert run.end() == pytest.ExitCode.INTERRUPTED
    finally:
        run.kill()
    assert leftovers() == []


def test_control_c_twice(minor: str) -> None:
    """The second one cuts the teardown off; then the reaper does it."""
    run = Run("test_waits", minor)
    try:
        run.wait_said(UP)
        run.interrupt()
        time.sleep(1.5)
        run.interrupt()
        run.end()
    finally:
        run.kill()
    wait_until("the reaper's end", lambda: not reapers(), 120)
    assert leftovers() == []


def test_termination(minor: str) -> None:
    run = Run("test_waits", minor)
    try:
        run.wait_said(UP)
        run.send(signal.SIGTERM)
        assert run.end() == pytest.ExitCode.INTERRUPTED
    finally:
        run.kill()
    assert leftovers() == []


@pytest.mark.parametrize("moment", [BOOTING, BOOTED, UP])
def test_killed(minor: str, moment: str) -> None:
    run = Run("test_waits", minor)
    try:
        run.wait_said(moment)
        run.send(signal.SIGKILL)
        assert run.end() == -signal.SIGKILL
    finally:
        run.kill()
    wait_until("the reaper's end", lambda: not reapers(), 120)


def test_a_failed_test(minor: str) -> None:
    run = Run("test_fails", minor)
    try:
        assert run.end(timeout=1800) == pytest.ExitCode.TESTS_FAILED
    finally:
        run.kill()
    assert "as it should be" in run.said
    assert leftovers() == []
