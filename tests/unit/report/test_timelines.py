"""From events to bars and bounds: what was when, and nothing that nobody has seen."""

from __future__ import annotations

import threading

import pytest

from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.rollout import Failure, FailureReason, NodeOutcome, NodeResult
from kschedpatch.report.page.timelines import Bar, Lane, lanes, longest_absence, ticks
from kschedpatch.report.recording import MAX_MOMENTS, Recorder
from tests.unit.report.runs import recorded, step


def drawn(*parts: list[tuple[float, Event]], end: float = 0.0) -> dict[str, list[Bar]]:
    recorder = recorded(*parts, end=end)
    made = lanes(recorder.moments, recorder.pauses, recorder.seconds)
    return {lane.node: list(lane.bars) for lane in made}


def test_time_stands_still_while_a_person_is_asked() -> None:
    recorder = recorded(step(Phase.FACTS, "cp1", 0, 2), step(Phase.LOCK, "cp1", 1, 3))
    assert [round(moment.seconds, 3) for moment in recorder.moments] == [0, 2, 3, 5]
    assert (recorder.pauses, recorder.seconds) == ((2.0,), 5.0)


def test_all_threads_are_heard_and_everything_is_passed_on() -> None:
    recorder, passed = Recorder(), list[Event]()

    def talk(listener: object, name: str) -> None:
        for number in range(300):
            listener(Event(Phase.STAGE, State.PROGRESS, name, chr(0x4E00 + number)))  # type: ignore[operator]  # a listener

    with recorder.beside(passed.append) as listener:
        threads = [threading.Thread(target=talk, args=(listener, f"cp{n}")) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(passed) == len(recorder.moments) == 8 * 300
    listener(Event(Phase.STAGE, State.DONE, "cp1"))
    assert len(recorder.moments) == 8 * 300, "a late word is no part of the run"


def test_what_only_counts_on_is_kept_once_and_all_is_bounded() -> None:
    upload = [
        (n / 10, Event(Phase.IMAGE, State.PROGRESS, "cp1", f"{n}.0 of 90.0 MiB")) for n in range(90)
    ]
    recorder = recorded(upload)
    assert [moment.event.text for moment in recorder.moments] == ["89.0 of 90.0 MiB"]
    talk = ((0.0, Event(Phase.IMAGE, State.PROGRESS, "cp1", "ab"[n % 2])) for n in range(30_000))
    assert len(recorded(talk).moments) == MAX_MOMENTS


def test_a_bar_from_begin_to_end_with_what_was_said() -> None:
    events = step(Phase.WATCH, "cp1", 1, 6, State.FAILED, "it crashed")
    events.insert(1, (3, Event(Phase.WATCH, State.PROGRESS, "cp1", "waiting")))
    expected = Bar(Phase.WATCH, 1, 6, State.FAILED, ("waiting", "it crashed"))
    assert drawn(events) == {"cp1": [expected]}


def test_what_was_broken_off_ends_where_the_next_begins_or_with_the_run() -> None:
    events = [
        (1.0, Event(Phase.WATCH, State.STARTED, "cp1")),
        *step(Phase.RESTORE, "cp1", 3, 5),
        (6.0, Event(Phase.FINISH, State.STARTED, "cp1")),
    ]
    # The thread that was left alone goes on to talk.
    events.insert(2, (3.5, Event(Phase.WATCH, State.PROGRESS, "cp1", "not ready")))
    assert [bar[:4] for bar in drawn(events, end=9)["cp1"]] == [
        (Phase.WATCH, 1, 3, State.STARTED),
        (Phase.RESTORE, 3, 5, State.DONE),
        (Phase.FINISH, 6, 9, State.STARTED),
    ]


def test_what_nobody_announced_is_over_when_the_planning_is() -> None:
    looking = [(1.0, Event(Phase.PLAN, State.PROGRESS, "", "looking"))]
    skipped = [(2.0, Event(Phase.CANARY, State.SKIPPED, "cp1", "no room"))]
    bars = drawn([*looking, *step(Phase.FACTS, "cp1", 2, 4)], skipped)
    assert bars[""] == [Bar(Phase.PLAN, 1, 4, State.DONE, ("looking",))]
    assert bars["cp1"][1] == Bar(Phase.CANARY, 6, 6, State.SKIPPED, ("no room",))


def test_nodes_in_the_order_of_the_run_and_the_cluster_last() -> None:
    events = [
        *step(Phase.OBJECTS, "", 0, 1),
        *step(Phase.FACTS, "cp3", 1, 2),
        *step(Phase.FACTS, "cp1", 2, 3),
    ]
    made = lanes(recorded(events).moments, (), 3, ("cp1", "cp2", "cp3"))
    assert [lane.node for lane in made] == ["cp1", "cp3", ""]


@pytest.mark.parametrize("end", [0.0, 0.05, 1.0, 7.3, 29.1, 95.0, 3600.0, 1e6])
def test_the_axis_has_few_round_ticks_within_the_run(end: float) -> None:
    marks = ticks(end)
    assert 1 <= len(marks) <= 9
    assert marks[0] == 0
    assert marks[-1] <= end + 1e-6
    assert end < 0.2 or len(marks) >= 3


HERE = Failure("cp1", Phase.WATCH, FailureReason.CRASH)
ELSEWHERE = Failure("cp2", Phase.WATCH, FailureReason.CRASH)
STOPPED = Failure("", Phase.RESTORE, FailureReason.INTERRUPTED)
BACK = (Bar(Phase.SWITCH, 2, 5, State.DONE), Bar(Phase.RESTORE, 9, 14, State.DONE))
LOST = (Bar(Phase.SWITCH, 2, 5, State.DONE), Bar(Phase.RESTORE, 9, 14, State.FAILED))


@pytest.mark.parametrize(
    "outcome, proven, back, failure, bars, bound",
    [
        (NodeOutcome.CHANGED, 3.4, None, None, BACK[:1], 3.4),
        (NodeOutcome.CHANGED, None, None, None, (), None),
        (NodeOutcome.RESTORED, 3.0, 2.0, ELSEWHERE, BACK, 5.0),
        (NodeOutcome.RESTORED, 3.0, 2.0, STOPPED, BACK, 5.0),
        # It had been proven and broke later: nobody knows when, so all of it counts.
        (NodeOutcome.RESTORED, 3.0, 2.0, HERE, BACK, 12.0),
        (NodeOutcome.RESTORED, None, 2.0, HERE, BACK, 12.0),
        (NodeOutcome.RESTORED, None, 2.0, HERE, (), None),
        (NodeOutcome.NOT_RESTORED, 3.0, None, HERE, LOST, None),
        (NodeOutcome.LEFT_TO_NODE, 3.0, None, HERE, LOST, None),
        (NodeOutcome.UNCHANGED, None, None, HERE, (), None),
    ],
)
def test_a_bound_for_the_outage_where_there_is_one(
    outcome: NodeOutcome,
    proven: float | None,
    back: float | None,
    failure: Failure | None,
    bars: tuple[Bar, ...],
    bound: float | None,
) -> None:
    node = NodeResult("cp1", "cp1", outcome, proven, back)
    assert longest_absence(node, Lane("cp1", bars), failure) == bound
