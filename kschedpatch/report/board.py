"""What a run is at, as a grid of nodes and stages with times: kept from events, drawn by the live
view."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from kschedpatch.model.events import Event, Phase, State


class Stage(Enum):
    """A column: phases that people take for one. In the order in which they come."""

    LOOK = "look"
    IMAGE = "image"
    FILES = "files"
    TRIAL = "trial"
    OBJECTS = "objects"
    CANARY = "canary"
    SWITCH = "switch"
    PROOF = "proof"
    PROBE = "probe"
    CONFIRM = "confirm"
    BACK = "way back"


_STAGES = {
    Phase.CONNECT: Stage.LOOK,
    Phase.FACTS: Stage.LOOK,
    Phase.INSPECT: Stage.LOOK,
    Phase.RIGHTS: Stage.LOOK,
    Phase.PLAN: Stage.LOOK,
    Phase.LOCK: Stage.FILES,
    Phase.IMAGE: Stage.IMAGE,
    Phase.STAGE: Stage.FILES,
    Phase.PREFLIGHT: Stage.TRIAL,
    Phase.OBJECTS: Stage.OBJECTS,
    Phase.ARM: Stage.CANARY,
    Phase.CANARY: Stage.CANARY,
    Phase.SWITCH: Stage.SWITCH,
    Phase.WATCH: Stage.PROOF,
    Phase.PROBE: Stage.PROBE,
    Phase.PERSIST: Stage.CONFIRM,
    Phase.CONFIRM: Stage.CONFIRM,
    Phase.FINISH: Stage.CONFIRM,
    Phase.RESTORE: Stage.BACK,
}
_ENDS = frozenset({State.DONE, State.FAILED, State.SKIPPED})


class Cell(NamedTuple):
    """A stage of a node."""

    seconds: float
    """Until now, where it still runs."""
    state: State


class Row(NamedTuple):
    node: str
    """Empty for what concerns the cluster."""
    last: Event
    cells: dict[Stage, Cell]

    @property
    def is_running(self) -> bool:
        return self.last.state not in _ENDS

    @property
    def has_failed(self) -> bool:
        return any(cell.state is State.FAILED for cell in self.cells.values())


class _Record:
    """One node's times, as they are kept."""

    def __init__(self, event: Event) -> None:
        self.last = event
        self.spent: dict[Stage, float] = {}
        self.states: dict[Stage, State] = {}
        self.since: dict[Stage, float] = {}

    def hear(self, event: Event, now: float) -> None:
        self.last = event
        stage = _STAGES[event.phase]
        began = self.since.setdefault(stage, now)
        self.spent.setdefault(stage, 0.0)
        # What failed stays failed, also when its stage goes on with something else.
        if self.states.get(stage) is not State.FAILED:
            self.states[stage] = event.state
        if event.state in _ENDS:
            self.spent[stage] += now - began
            del self.since[stage]

    def row(self, node: str, now: float) -> Row:
        cells = {
            stage: Cell(spent + now - self.since.get(stage, now), self.states[stage])
            for stage, spent in self.spent.items()
        }
        return Row(node, self.last, cells)


class Board:
    """A listener that keeps what it hears; events come from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._records: dict[str, _Record] = {}
        self._lock = threading.Lock()
        self._clock = clock

    def __call__(self, event: Event, /) -> None:
        with self._lock:
            record = self._records.setdefault(event.node, _Record(event))
            record.hear(event, self._clock())

    def rows(self) -> list[Row]:
        """As they stand now, the cluster's last."""
        with self._lock:
            now = self._clock()
            rows = [record.row(node, now) for node, record in self._records.items()]
        return sorted(rows, key=lambda row: not row.node)


class Chosen(NamedTuple):
    shown: list[Row]
    hidden: list[Row]


def chosen(rows: Sequence[Row], room: int) -> Chosen:
    """Where there are more nodes than lines: who failed, then who is at work, then the others."""
    if len(rows) <= room:
        return Chosen(list(rows), [])
    room = max(room - 1, 0)  # a line says how many others there are
    by_interest = sorted(rows, key=lambda row: (not row.has_failed, not row.is_running))
    kept = {row.node for row in by_interest[:room]}
    return Chosen(
        [row for row in rows if row.node in kept], [row for row in rows if row.node not in kept]
    )


def folded(rows: Sequence[Row]) -> str:
    """The line for those that are not shown."""
    failed = sum(row.has_failed for row in rows)
    running = sum(row.is_running and not row.has_failed for row in rows)
    counts = (
        (failed, "failed"),
        (running, "at work"),
        (len(rows) - failed - running, "waiting for their turn, or done"),
    )
    return f"and {len(rows)} more: " + ", ".join(f"{n} {word}" for n, word in counts if n)


def stages_in(rows: Sequence[Row], width: int, column: Callable[[Stage], int]) -> list[Stage]:
    """The columns that fit, the last ones: what is over takes no room from what goes on."""
    there = [stage for stage in Stage if any(stage in row.cells for row in rows)]
    while there and sum(column(stage) for stage in there) > width:
        del there[0]
    return there
