"""What happened in a sandbox, over simulated time: tests compute outages from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Event(NamedTuple):
    time: float
    node: str
    text: str


class Sample(NamedTuple):
    """How things stand from ``time`` on."""

    time: float
    ready: frozenset[str]
    """Names of the nodes whose scheduler is ready."""
    canaries: frozenset[str]
    """Names of the nodes whose canary is ready."""
    leader: str
    """The node one of whose schedulers holds the lease; empty: nobody's."""
    is_canary_leading: bool

    @property
    def is_led(self) -> bool:
        return self.leader in (self.canaries if self.is_canary_leading else self.ready)


class Record:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.samples: list[Sample] = [
            Sample(now(), frozenset(), frozenset(), "", is_canary_leading=False)
        ]
        self.events: list[Event] = []

    def tell(self, node: str, text: str) -> None:
        self.events.append(Event(self._now(), node, text))

    def ready(self, node: str, is_ready: bool, *, is_canary_ready: bool) -> None:
        last = self.samples[-1]
        ready = last.ready | {node} if is_ready else last.ready - {node}
        canaries = last.canaries | {node} if is_canary_ready else last.canaries - {node}
        self._add(last._replace(ready=ready, canaries=canaries))

    def leader(self, node: str, *, is_canary: bool) -> None:
        self._add(self.samples[-1]._replace(leader=node, is_canary_leading=is_canary))

    def _add(self, sample: Sample) -> None:
        if sample != self.samples[-1]:
            self.samples.append(sample._replace(time=self._now()))

    def without_scheduler(self, node: str, since: float = 0.0) -> list[float]:
        """How long each stretch was in which this node had no ready scheduler but a canary."""
        return self._stretches(lambda sample: node not in sample.ready, since)

    def without_leader(self, since: float = 0.0) -> list[float]:
        """How long each stretch was in which no ready scheduler, canaries too, held the lease."""
        return self._stretches(lambda sample: not sample.is_led, since)

    def _stretches(self, wanted: Callable[[Sample], bool], since: float) -> list[float]:
        found: list[float] = []
        began: float | None = None
        ends = [sample.time for sample in self.samples[1:]] + [self._now()]
        for sample, end in zip(self.samples, ends, strict=True):
            if end <= since:
                continue
            if wanted(sample):
                began = max(sample.time, since) if began is None else began
            elif began is not None:
                found.append(sample.time - began)
                began = None
        if began is not None:
            found.append(self._now() - began)
        return found
