"""The measured runs as a table, with medians, maxima and targets. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from kschedpatch.model import exitcodes


class Way(Enum):
    """The ways to change the schedulers, in the order of the table."""

    HAND = "a"
    NO_CANARY = "b"
    CANARY = "c"
    BAD = "d"
    BAD_BY_HAND = "e"


TITLES = {
    Way.HAND: "by hand: renamed in place, leader last",
    Way.NO_CANARY: "kschedpatch apply --no-canary",
    Way.CANARY: "kschedpatch apply",
    Way.BAD: "kschedpatch apply of a flag that crashes it",
    Way.BAD_BY_HAND: "the same by hand on the leader, back after 10 s",
}
EXIT_CODES = {
    Way.NO_CANARY: exitcodes.OK,
    Way.CANARY: exitcodes.OK,
    Way.BAD: exitcodes.REFUSED,
}
SIZES = {1: "one control-plane node", 3: "three control-plane nodes"}


@dataclass(frozen=True)
class Run:
    nodes: int
    way: Way
    number: int
    outage: float
    """The longest time without a lease holder that is ready, in seconds."""
    wait: float
    """The longest wait of a pod."""
    created: int
    bound: int
    twice: int
    """Pods that were seen on two nodes."""
    exit_code: int | None = None
    """Of kschedpatch; None where it was not asked."""
    problems: tuple[str, ...] = ()
    """What else went wrong, so that this run does not show what it is meant to."""
    story: tuple[str, ...] = ()
    """What the sampler saw around the longest outage and the longest wait."""

    @property
    def measured(self) -> bool:
        """Not so when the run itself broke off."""
        return self.created > 0

    @property
    def lost(self) -> int:
        return self.created - self.bound

    @property
    def failures(self) -> list[str]:
        """Why the command fails; a time is never among it."""
        found = list(self.problems)
        if self.lost:
            found.append(f"{self.lost} of {self.created} pods were never bound")
        if self.twice:
            found.append(f"{self.twice} pods were seen on two nodes")
        expected = EXIT_CODES.get(self.way)
        if self.exit_code != expected:
            found.append(f"exit code {self.exit_code}, not {expected}")
        return found


class Target(NamedTuple):
    way: Way
    of: str
    """`outage` or `wait`."""
    median: float | None
    maximum: float | None
    sizes: tuple[int, ...] = (1, 3)

    @property
    def limit(self) -> float:
        """A single run above this is worth a look."""
        return self.median or 0.0 if self.maximum is None else self.maximum

    def met(self, seconds: Sequence[float]) -> bool:
        return (self.median is None or statistics.median(seconds) <= self.median) and (
            self.maximum is None or max(seconds) <= self.maximum
        )

    def __str__(self) -> str:
        parts = (("median", self.median), ("max", self.maximum))
        return ", ".join(f"{name} ≤ {value:g}" for name, value in parts if value is not None)


TARGETS = (
    Target(Way.NO_CANARY, "outage", median=4.0, maximum=None, sizes=(1,)),
    Target(Way.CANARY, "outage", median=0.6, maximum=1.5),
    Target(Way.CANARY, "wait", median=None, maximum=1.5),
    Target(Way.BAD, "outage", median=None, maximum=0.0),
)

_OF: dict[str, Callable[[Run], float]] = {"outage": lambda r: r.outage, "wait": lambda r: r.wait}


def over_the_limit(run: Run) -> list[Target]:
    return [
        target
        for target in TARGETS
        if target.way is run.way
        and run.nodes in target.sizes
        and _OF[target.of](run) > target.limit
    ]


def _drags_the_median(run: Run, runs: Sequence[Run]) -> bool:
    """A median that is missed has its reason in the runs above it."""
    alike = [other for other in runs if (other.nodes, other.way) == (run.nodes, run.way)]
    return any(
        target.median is not None
        and _OF[target.of](run) > target.median < statistics.median(map(_OF[target.of], alike))
        for target in TARGETS
        if target.way is run.way and run.nodes in target.sizes
    )


def report(runs: Sequence[Run], title: str) -> str:
    lines = [title, "", *_summary(runs), "", *_each(runs)]
    for run in runs:
        if over_the_limit(run) or _drags_the_median(run, runs):
            lines += ["", f"over the limit: {_name(run)}", *(f"  {line}" for line in run.story)]
    failures = [f"{_name(run)}: {failure}" for run in runs for failure in run.failures]
    if failures:
        lines += ["", "failed:", *(f"  {failure}" for failure in failures)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _summary(runs: Sequence[Run]) -> list[str]:
    head = f"{'':55}  {'without a ready lease holder':50}longest wait of a pod"
    names = f"{'median':>8}{'max':>8}  "
    lines = [head, f"{'':55}{names}{'target':32}{names}target"]
    for nodes, size in SIZES.items():
        there = [run for run in runs if run.nodes == nodes]
        if there:
            lines.append(size)
        for way in Way:
            of_way = [run for run in there if run.way is way and run.measured]
            if of_way:
                outage = _cells(nodes, way, "outage", [run.outage for run in of_way])
                wait = _cells(nodes, way, "wait", [run.wait for run in of_way])
                lines.append(f"  {way.value}  {TITLES[way]:50}{outage:50}{wait}")
    return lines


def _cells(nodes: int, way: Way, of: str, seconds: Sequence[float]) -> str:
    shown = f"{statistics.median(seconds):8.2f}{max(seconds):8.2f}"
    for target in TARGETS:
        if (target.way, target.of) == (way, of) and nodes in target.sizes:
            return f"{shown}  {target} {'✓' if target.met(seconds) else '✗'}"
    return shown


def _each(runs: Sequence[Run]) -> list[str]:
    lines = ["nodes  way  run   no holder   longest wait   created   bound   lost   on two   exit"]
    for run in runs:
        code = "-" if run.exit_code is None else run.exit_code
        lines.append(
            f"{run.nodes:5}  {run.way.value:>3}  {run.number:3}  {run.outage:10.2f}"
            f"  {run.wait:13.2f}  {run.created:8}  {run.bound:6}  {run.lost:5}  {run.twice:7}"
            f"  {code:>5}"
        )
    return lines


def _name(run: Run) -> str:
    return f"{SIZES[run.nodes]}, {run.way.value}, run {run.number}"
