"""The live view: nodes and stages with their times, what is waited for, on any terminal."""

from __future__ import annotations

import io
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from kschedpatch.model.events import Event, Phase, State
from kschedpatch.report.board import Board
from kschedpatch.report.liveview import View

ESCAPE = "\x1b[31m"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def drawn(board: Board, width: int = 80, height: int = 24) -> list[str]:
    console = Console(
        width=width, height=height, file=io.StringIO(), force_terminal=False, highlight=False
    )
    with console.capture() as capture:
        console.print(View(board))
    return [line.rstrip() for line in capture.get().splitlines()]


def told(board: Board, clock: Clock, events: Iterable[tuple[float, Event]]) -> None:
    for seconds, event in events:
        clock.now += seconds
        board(event)


def start(node: str, phase: Phase, text: str = "") -> Event:
    return Event(phase, State.STARTED, node, text)


def done(node: str, phase: Phase) -> Event:
    return Event(phase, State.DONE, node)


def test_nodes_and_stages_with_their_times() -> None:
    clock = Clock()
    board = Board(clock)
    told(
        board,
        clock,
        [
            (0, start("cp1", Phase.CONNECT)),
            (0.2, done("cp1", Phase.CONNECT)),
            (0, start("cp1", Phase.FACTS)),
            (0.3, done("cp1", Phase.FACTS)),
            (0, done("cp2", Phase.CONNECT)),
            (0, start("cp1", Phase.SWITCH)),
            (2, done("cp1", Phase.SWITCH)),
            (0, start("cp1", Phase.WATCH)),
            (1, Event(Phase.WATCH, State.PROGRESS, "cp1", "running, not ready yet")),
            (11, start("", Phase.OBJECTS, "waiting for 2")),
        ],
    )
    assert drawn(board) == [
        "            look objects switch  proof",
        "… cp1       0.5s           2.0s   …12s",
        "✓ cp2       0.0s",
        "… cluster          …0.0s",
        "cp1: waiting for the scheduler: running, not ready yet",
        "cluster: applying objects: waiting for 2",
    ]


def test_what_failed_stays_in_sight_while_its_node_goes_back() -> None:
    clock = Clock()
    board = Board(clock)
    told(
        board,
        clock,
        [
            (0, start("cp1", Phase.WATCH)),
            (4, Event(Phase.WATCH, State.FAILED, "cp1", "it crashed")),
            (0, start("cp1", Phase.RESTORE)),
            (1, Event(Phase.RESTORE, State.PROGRESS, "cp1", "the old one starts")),
        ],
    )
    assert drawn(board) == [
        "       proof way back",
        "✗ cp1  ✗4.0s    …1.0s",
        "cp1: restoring: the old one starts",
    ]


@pytest.mark.parametrize(
    "fraction, words",
    [
        (None, "bringing the image: own.tar"),
        (0.0, "────────────────────   0 % bringing"),
        (0.5, "━━━━━━━━━━──────────  50 % bringing"),
        (7.0, "━━━━━━━━━━━━━━━━━━━━ 100 % bringing"),
    ],
)
def test_what_is_sent_has_a_bar(fraction: float | None, words: str) -> None:
    board = Board()
    board(Event(Phase.IMAGE, State.PROGRESS, "cp1", "own.tar", fraction))
    assert drawn(board)[-1].startswith(f"cp1: {words}")


def test_more_nodes_than_lines_are_folded_and_who_failed_is_shown() -> None:
    board = Board()
    for number in range(50):
        board(done(f"cp{number}", Phase.CONNECT))
    board(Event(Phase.FACTS, State.FAILED, "cp44", "no answer"))
    board(start("cp45", Phase.FACTS))
    lines = drawn(board, height=12)
    assert len(lines) < 12
    assert any(line.startswith("✗ cp44") for line in lines)
    assert any(line.startswith("… cp45") for line in lines)
    assert lines[-1] == "and 43 more: 43 waiting for their turn, or done"


def test_nothing_of_a_node_is_taken_for_markup_or_drives_the_terminal() -> None:
    board = Board()
    for number in range(3):
        board(Event(Phase.WATCH, State.STARTED, f"cp{number}", f"[red]{'x' * 200}{ESCAPE}"))
    lines = drawn(board, width=60)
    assert "waiting for the scheduler: [red]xxx" in lines[-1]
    assert "\x1b" not in "".join(lines)


EVENTS = st.builds(
    Event,
    st.sampled_from(Phase),
    st.sampled_from(State),
    st.sampled_from(
        ["", "cp1", "cp2", "a-node-with-a-name.that.is.long.example.com", "n\n\x1b[2J"]
    ),
    st.text(max_size=200),
    st.none() | st.floats(allow_nan=False),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=40), st.integers(20, 200), st.integers(4, 60))
def test_it_fits_whatever_is_told(events: list[Event], width: int, height: int) -> None:
    clock = Clock()
    board = Board(clock)
    told(board, clock, ((7.5, event) for event in events))
    lines = drawn(board, width, height)
    assert len(lines) <= max(height, 8)
    assert all(len(line) <= width for line in lines)
