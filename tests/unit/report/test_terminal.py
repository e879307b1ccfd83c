"""The live view at a real terminal: its own size, another one, and Ctrl-C."""

from __future__ import annotations

import sys

import pytest

from kschedpatch.model import exitcodes
from tests.terminal import Terminal

#: Tells events as a run does, until it is interrupted.
TELLING = """
import sys, time
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.report.progress import progress
from kschedpatch.report.progressmode import ProgressMode
nodes = [f"cp{n}.cluster.example.com" for n in range(int(sys.argv[1]))]
try:
    with progress(ProgressMode.AUTO) as listener:
        for node in nodes:
            listener(Event(Phase.CONNECT, State.DONE, node))
            listener(Event(Phase.WATCH, State.STARTED, node, "running, not ready yet " * 9))
        time.sleep(60)
except KeyboardInterrupt:
    print("Interrupted. Nothing live was touched.", file=sys.stderr)
    sys.exit(130)
"""
WAITING = "waiting for the scheduler: running, not"


@pytest.mark.parametrize("nodes, columns, lines", [(3, 80, 24), (3, 40, 10), (60, 80, 24)])
def test_it_fits_its_terminal_and_leaves_it_clean(nodes: int, columns: int, lines: int) -> None:
    command = [sys.executable, "-c", TELLING, str(nodes)]
    with Terminal(command, columns=columns, lines=lines) as terminal:
        terminal.wait_for(lambda it: WAITING[: columns - 35] in "\n".join(it.lines()))
        assert not terminal.cursor_is_shown
        seen = terminal.lines()
        assert sum("look" in line and "proof" in line for line in seen) == 1, seen
        if nodes > lines:
            assert any("more: " in line for line in seen), seen
        terminal.type("\x03")
        assert terminal.wait() == exitcodes.INTERRUPTED
        assert terminal.cursor_is_shown
        everything = terminal.everything()
        assert everything[-1].startswith("Interrupted. Nothing live"), everything
        # Redrawn in place: nothing of it has scrolled out, and there is one of it.
        assert sum("look" in line and "proof" in line for line in everything) == 1, everything


def test_another_size_is_followed() -> None:
    command = [sys.executable, "-c", TELLING, "3"]
    with Terminal(command, columns=80, lines=24) as terminal:
        terminal.wait_for(lambda it: WAITING in "\n".join(it.lines()))
        terminal.resize(120, 30)
        longer = "running, not ready yet running, not ready yet running, not"
        terminal.wait_for(lambda it: longer in "\n".join(it.lines()))
        terminal.type("\x03")
        assert terminal.wait() == exitcodes.INTERRUPTED
        assert terminal.cursor_is_shown
        assert "Traceback" not in "\n".join(terminal.everything())
