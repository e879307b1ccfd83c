"""From events to bars: which phase a node was in, from when to when, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.rollout import Failure, FailureReason, NodeOutcome, NodeResult
from kschedpatch.report.recording import Moment

MAX_SAID = 12
"""Of what was said during one phase."""
_ENDS = frozenset({State.DONE, State.FAILED, State.SKIPPED})


class Bar(NamedTuple):
    phase: Phase
    begin: float
    end: float
    state: State
    """STARTED: it was broken off, or was not over when the run was."""
    said: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        return self.end - self.begin


class Lane(NamedTuple):
    node: str
    """Its label; empty for the cluster."""
    bars: tuple[Bar, ...]

    def first(self, phase: Phase) -> Bar | None:
        return next((bar for bar in self.bars if bar.phase is phase), None)

    def last(self, phase: Phase) -> Bar | None:
        return next((bar for bar in reversed(self.bars) if bar.phase is phase), None)


class _Open:
    def __init__(self, event: Event, begin: float) -> None:
        self.phase, self.begin, self.said = event.phase, begin, list[str]()
        self.announced = event.state is State.STARTED
        """Otherwise nobody will say when it ends."""


class _Track:
    """A lane in the making. A node is in one phase at a time."""

    def __init__(self) -> None:
        self.bars: list[Bar] = []
        self.open: _Open | None = None

    def take(self, now: float, event: Event) -> None:
        if event.state is State.STARTED:
            self.close(now)
            self.open = _Open(event, now)
        elif self.open is None or self.open.phase is not event.phase:
            if self.open is not None and self.open.announced:
                return  # a thread that was left alone still talks of what is over
            self.close(now)
            self.open = _Open(event, now)
        assert self.open is not None  # noqa: S101  it is this event's
        if event.text and event.text not in self.open.said:
            self.open.said.append(event.text)
        if event.state in _ENDS:
            self._add(now, event.state)

    def close(self, now: float) -> None:
        if self.open is not None:
            self._add(now, State.STARTED if self.open.announced else State.DONE)

    def _add(self, now: float, state: State) -> None:
        assert self.open is not None  # noqa: S101  the callers have looked
        said = self.open.said
        kept = said if len(said) <= MAX_SAID else [*said[: MAX_SAID // 2], "…", *said[-5:]]
        self.bars.append(Bar(self.open.phase, self.open.begin, now, state, tuple(kept)))
        self.open = None


def lanes(
    moments: Sequence[Moment], pauses: Sequence[float], end: float, order: Sequence[str] = ()
) -> tuple[Lane, ...]:
    """Nodes in the given order, then as they came; the cluster last."""
    tracks: dict[str, _Track] = {label: _Track() for label in order}
    stops = list(pauses)
    for moment in moments:
        while stops and stops[0] < moment.seconds:
            _close_all(tracks, stops.pop(0))
        tracks.setdefault(moment.event.node, _Track()).take(moment.seconds, moment.event)
    _close_all(tracks, end)
    of_cluster = tracks.pop("", None)
    made = [Lane(node, tuple(track.bars)) for node, track in tracks.items() if track.bars]
    if of_cluster is not None and of_cluster.bars:
        made.append(Lane("", tuple(of_cluster.bars)))
    return tuple(made)


def _close_all(tracks: dict[str, _Track], now: float) -> None:
    for track in tracks.values():
        track.close(now)


def ticks(end: float, most: int = 8) -> tuple[float, ...]:
    """Round seconds from 0 on, at most so many."""
    size = 0.1
    for factor in (2, 2.5, 2) * 8:
        if end / size <= most:
            break
        size *= factor
    return tuple(round(size * number, 3) for number in range(int(end / size + 1e-9) + 1))


def longest_absence(
    node: NodeResult, lane: Lane | None, failure: Failure | None = None
) -> float | None:
    """Seconds in which the node may have been without a scheduler of its own: from the switch until
    the new one, or the former one, was seen ready. An upper bound; None where nobody knows one."""
    if node.outcome is NodeOutcome.CHANGED:
        return node.seconds_to_proven
    if node.outcome is not NodeOutcome.RESTORED:
        return None
    elsewhere = failure is not None and (
        failure.node not in ("", node.label) or failure.reason is FailureReason.INTERRUPTED
    )
    if elsewhere and node.seconds_to_proven is not None and node.seconds_to_restored is not None:
        # It worked in between: two short absences.
        return node.seconds_to_proven + node.seconds_to_restored
    switch = lane.first(Phase.SWITCH) if lane is not None else None
    restore = lane.last(Phase.RESTORE) if lane is not None else None
    if switch is None or restore is None or restore.state is not State.DONE:
        return None
    return restore.end - switch.begin


def was_touched(lane: Lane | None) -> bool:
    return lane is not None and lane.first(Phase.SWITCH) is not None
