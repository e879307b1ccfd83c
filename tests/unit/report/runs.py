"""Runs as a report gets them: one that fails on its last node and goes back, and parts of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache

from kschedpatch.model.checks import Check, CheckState
from kschedpatch.model.clusterplan import Action, ClusterPlan, ObjectChange, ObjectResult, ref_of
from kschedpatch.model.codes import found
from kschedpatch.model.events import Event, Phase, State, nobody
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.persistplan import PersistPlan
from kschedpatch.model.rollout import (
    Failure,
    FailureReason,
    NodeOutcome,
    NodeResult,
    RolloutResult,
    RolloutSettings,
)
from kschedpatch.report.page.record import RunRecord
from kschedpatch.report.recording import Recorder
from tests.unit.fleet.nodes import three
from tests.unit.fleet.test_planning import VERBOSE, planned

RUN = "20261116-204512-3fa9"
BEGAN = datetime(2026, 11, 16, 20, 45, 12, tzinfo=UTC)
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "key", "namespace": "kube-system"},
    "stringData": {"key": "tr0ub4dor"},
}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def recorded(*parts: Iterable[tuple[float, Event]], end: float = 0.0) -> Recorder:
    """Each part is listened to on its own, with a long pause in between; ``end`` is the last's."""
    clock = Clock()
    recorder = Recorder(clock)
    for number, part in enumerate(parts):
        began = clock.now
        with recorder.beside(nobody) as listener:
            for seconds, event in part:
                clock.now = began + seconds
                listener(event)
            if number == len(parts) - 1:
                clock.now = max(clock.now, began + end)
        clock.now += 1000
    return recorder


def step(
    phase: Phase, node: str, begin: float, end: float, state: State = State.DONE, said: str = ""
) -> list[tuple[float, Event]]:
    return [
        (begin, Event(phase, State.STARTED, node)),
        (end, Event(phase, state, node, said)),
    ]


@cache
def _plan() -> FleetPlan:
    return planned(VERBOSE, *three())


def failed_run(word: str = "words") -> RunRecord:
    """Whatever a node, a file or the operator says in it has ``word`` in it."""
    last = f"cp2{word}"
    plan = _plan()
    plan = plan._replace(nodes=(*plan.nodes[:2], plan.nodes[2]._replace(label=last)))
    labels = [node.label for node in plan.nodes]
    record = RunRecord("apply", BEGAN)
    record.by(RolloutSettings(who=word, reason=f"why {word}"))
    change = ObjectChange(Action.CREATE, ref_of(SECRET), SECRET, source=f"./{word}")
    findings = [found("R001", f"m{word}", file=f"f{word}", line=3, path=f"p{word}", hint=word)]
    record.planned(plan, ClusterPlan("mine", brought=(change,)), PersistPlan(), findings)
    looking = [
        item
        for at, label in enumerate(labels)
        for item in step(Phase.CONNECT, label, 0.1 * at, 1 + 0.1 * at)
    ]
    rolling = [
        *((0.5, Event(Phase.OBJECTS, state)) for state in (State.STARTED, State.DONE)),
        (1, Event(Phase.CANARY, State.SKIPPED, labels[0], f"no {word}")),
        *step(Phase.SWITCH, labels[0], 1, 4),
        *step(Phase.WATCH, labels[0], 4, 9),
        *step(Phase.SWITCH, last, 9, 12),
        *step(Phase.WATCH, last, 12, 14, State.FAILED, f"it said {word}"),
        *step(Phase.RESTORE, last, 14, 18),
        *step(Phase.RESTORE, labels[0], 18, 22),
    ]
    record.recorder = recorded(sorted(looking, key=lambda item: item[0]), rolling, end=23)
    record.result = RolloutResult(
        RUN,
        "apply",
        4,
        (
            NodeResult(labels[0], "cp1", NodeOutcome.RESTORED, 3.4, 2.1),
            NodeResult(labels[1], "cp3", NodeOutcome.UNCHANGED),
            NodeResult(last, "cp2", NodeOutcome.RESTORED, None, 3.0, f"d{word}"),
        ),
        Failure(
            last,
            Phase.WATCH,
            FailureReason.CRASH,
            f"exit code 1 {word}",
            (f"E1116 run.go:72] unknown plugin {word}", "second"),
            (f"kubelet: back-off {word}",),
            (f"  object {word}",),
        ),
        (f"Role a/{word}",),
        (f"note {word}",),
        (ObjectResult(f"Secret {word}", Action.LEFT, f"because {word}"),),
    )
    record.checked(
        (Check(last, f"s{word}", CheckState.FAILED, f"e{word}", (f"+{word}", f"-{word}")),),
        (),
        findings,
    )
    record.end(4)
    record.ended = BEGAN
    return record
