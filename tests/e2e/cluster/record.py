"""What the sampler saw, and what of it was an outage. Pure: no clock, no network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .node import SCHEDULER_PORT


class Process(NamedTuple):
    """A scheduler's process, as far as one can tell from outside."""

    node: str
    port: int
    epoch: int
    """Counts the connections to this port: one that is made anew may lead to another process."""

    @property
    def place(self) -> str:
        return f"{self.node}:{self.port}"


Owners = Mapping[str, frozenset[Process]]
"""The process that has a holder identity; several epochs of it when a connection just timed out."""


@dataclass(frozen=True)
class Sample:
    at: float
    """Seconds since the sampler's start."""
    ready: frozenset[Process]
    """The schedulers that say they are ready."""
    holder: str | None
    """The lease's holder identity, empty when released; None: no API server answered."""
    renewed: bool
    """The holder renewed it lately."""


@dataclass(frozen=True)
class Record:
    samples: tuple[Sample, ...]
    owners: Owners = field(default_factory=dict)

    def working(self, sample: Sample) -> bool:
        """The holder renews, and its own process is ready: not just another one on its node.

        Judged afterwards, so an identity whose process was found only later
        counts from its first appearance on.
        """
        return sample.renewed and bool(self.owners_of(sample.holder) & sample.ready)

    def owners_of(self, holder: str | None) -> frozenset[Process]:
        return self.owners.get(holder or "", frozenset())

    def works_now(self) -> bool:
        """By the last sample."""
        return bool(self.samples) and self.working(self.samples[-1])

    def outage(self) -> float:
        """The longest time, in seconds, without a ready lease holder."""
        return max((end - start for start, end in self.outages()), default=0.0)

    def outages(self) -> list[tuple[float, float]]:
        """Start and end of each such time; without an answer of the API nothing is counted."""
        return _gaps([(s.at, self.working(s)) for s in self.samples if s.holder is not None])

    def unready(self, node: str, port: int = SCHEDULER_PORT) -> list[tuple[float, float]]:
        """Start and end of each time in which this scheduler was not ready."""
        place = (node, port)
        return _gaps([(s.at, any(p[:2] == place for p in s.ready)) for s in self.samples])

    def holders(self) -> list[str]:
        """The lease's holders in the order of their terms."""
        terms: list[str] = []
        for sample in self.samples:
            if sample.holder and (not terms or terms[-1] != sample.holder):
                terms.append(sample.holder)
        return terms

    def term(self, holder: str) -> float:
        """Seconds from the first to the last sample that names it."""
        times = [sample.at for sample in self.samples if sample.holder == holder]
        return times[-1] - times[0] if times else 0.0

    def story(self) -> str:
        """The terms, who they were attributed to and who was ready then: for a failed test."""
        lines: list[str] = []
        last: tuple[str | None, bool, frozenset[Process]] | None = None
        for sample in self.samples:
            state = (sample.holder, sample.renewed, sample.ready)
            if state != last:
                owners = ", ".join(sorted(p.place for p in self.owners_of(sample.holder)))
                ready = ", ".join(sorted(f"{p.place}#{p.epoch}" for p in sample.ready))
                stale = "" if sample.renewed else " (not renewed)"
                lines.append(
                    f"{sample.at:7.2f} {sample.holder!r}{stale} is {owners or '?'}; ready: {ready}"
                )
            last = state
        return "\n".join(lines)


def node_of(holder: str | None) -> str:
    """An identity is `<node>_<uuid>`."""
    return (holder or "").rpartition("_")[0]


class Claim(NamedTuple):
    """A ready process that said it leads, while the lease named this holder."""

    holder: str
    process: Process
    at: float


@dataclass
class Attribution:
    """Finds out whose each holder identity is: a scheduler tells that it leads, not by which name.

    A claim counts when the lease names the same holder in a reading that began
    after it; or a fast successor on the same node would get the identity of the
    dead one before it.
    """

    owners: dict[str, frozenset[Process]] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()

    def wanted(self, holder: str | None, process: Process) -> bool:
        """Whether this process should be asked: a reconnected one may be the owner still."""
        if not holder or node_of(holder) != process.node:
            return False
        owners = self.owners.get(holder, frozenset())
        return not any(known.port != process.port or known == process for known in owners)

    def claim(self, claim: Claim) -> None:
        self.claims = (*self.claims, claim)

    def read(self, holder: str, began: float) -> None:
        """What the lease said in a reading that began at this time."""
        due = [claim for claim in self.claims if claim.at <= began]
        self.claims = tuple(claim for claim in self.claims if claim.at > began)
        found = {claim.process for claim in due if claim.holder == holder}
        # Two that both say so: one is about to learn that it lost. They are asked again.
        if len(found) == 1:
            self.owners[holder] = self.owners.get(holder, frozenset()) | found


def _gaps(states: list[tuple[float, bool]]) -> list[tuple[float, float]]:
    gaps: list[tuple[float, float]] = []
    start: float | None = None
    for at, good in states:
        if not good and start is None:
            start = at
        elif good and start is not None:
            gaps.append((start, at))
            start = None
    if start is not None:
        gaps.append((start, states[-1][0]))
    return gaps
