"""Leader election by each scheduler's own durations, on a clock that the test moves."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from kschedpatch.core.schedconfig.election import Election
from kschedpatch.sandbox.apiserver import ApiServer
from kschedpatch.sandbox.election import LeaderElection
from kschedpatch.sandbox.process import SchedulerProcess
from kschedpatch.sandbox.simulation import Simulation

CANARY = (15.0, 10.0, 0.2)
MAIN = (None, None, None)
LEASE = ("Lease", "kube-scheduler", "kube-system")


class SteppedSimulation(Simulation):
    """Its time passes only when it is told to, and exactly."""

    def __init__(self) -> None:
        super().__init__()
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def run(self, seconds: float) -> None:
        end = self.at + seconds
        while self._due and self._due[0][0] <= end:
            self.at, _, timer = heapq.heappop(self._due)
            if timer.action is not None:
                timer.action()
        self.at = end


class Scheduler:
    """As much of a process as takes part in an election."""

    def __init__(self, world: World, name: str, durations: tuple[float | None, ...]) -> None:
        self.identity = self.node = self.pod = name
        three = cast("tuple[float | None, float | None, float | None]", durations)
        self.election = Election(True, "kube-scheduler", "kube-system", three, "leases")
        self._world = world
        self.lost_at: float | None = None

    def leads(self, lease: str) -> None: ...

    def does(self, action: Callable[[], None]) -> None:
        action()

    def lose_lease(self) -> None:
        self.lost_at = self._world.simulation.at
        self.leave(released=False)

    def leave(self, *, released: bool = True) -> None:
        self._world.election.leaves(cast("SchedulerProcess", self), released=released)


class World:
    def __init__(self) -> None:
        self.simulation = SteppedSimulation()
        self.api = ApiServer()
        self.election = LeaderElection(self.simulation, self.api, lambda process: None)

    def joins(self, name: str, durations: tuple[float | None, ...] = MAIN) -> Scheduler:
        scheduler = Scheduler(self, name, durations)
        self.election.joins(cast("SchedulerProcess", scheduler))
        return scheduler

    def seconds_without_leader(self, longest: float = 30.0) -> float:
        began = self.simulation.at
        while self.election.leader() is None:
            assert self.simulation.at - began < longest
            self.simulation.run(0.01)
        return self.simulation.at - began

    def version(self) -> str:
        return str(self.api.get(*LEASE)["metadata"]["resourceVersion"])


Worlds = Callable[[], World]


@pytest.fixture
def worlds() -> Iterator[Worlds]:
    made: list[World] = []

    def make() -> World:
        made.append(World())
        return made[-1]

    yield make
    for world in made:
        world.simulation.end()


def test_the_first_attempt_comes_at_once(worlds: Worlds) -> None:
    world = worlds()
    world.joins("first")
    assert world.election.holder() == "first"
    world.joins("second")
    assert world.election.holder() == "first"


def test_a_released_lease_waits_for_the_next_standby_by_its_own_period(worlds: Worlds) -> None:
    waits: dict[str, list[float]] = {"canary": [], "main": []}
    for kind, durations in (("canary", CANARY), ("main", MAIN)):
        world = worlds()
        for number in range(60):
            leader = world.joins("leader")
            standby = world.joins(kind, durations)
            world.simulation.run(5 + number / 7)
            leader.leave()
            waits[kind].append(world.seconds_without_leader())
            standby.leave()
    assert max(waits["canary"]) <= 0.45
    assert 3.0 < max(waits["main"]) <= 4.41
    # Spread over the period: the attempts of standbys have nothing to do with the release.
    assert min(waits["main"]) < 1.0


def test_a_leader_renews_once_in_its_retry_period(worlds: Worlds) -> None:
    for durations, low, high in ((CANARY, 48, 52), (MAIN, 4, 6)):
        world = worlds()
        world.joins("leader", durations)
        versions = set()
        for _ in range(1000):
            world.simulation.run(0.01)
            versions.add(world.version())
        assert low <= len(versions) <= high


def test_a_dead_holders_lease_is_trusted_until_its_duration_has_passed(worlds: Worlds) -> None:
    world = worlds()
    leader = world.joins("leader")
    world.joins("canary", CANARY)
    world.simulation.run(10)
    leader.leave(released=False)
    assert 13 <= world.seconds_without_leader() <= 15.9
    # Who comes new has seen it for no time at all.
    world = worlds()
    world.joins("leader").leave(released=False)
    world.simulation.run(14)
    world.joins("main")
    assert 15 <= world.seconds_without_leader() <= 19.5


def test_one_in_so_many_releases_leaves_a_dead_holder(worlds: Worlds) -> None:
    world = worlds()
    world.election.keep_dead_holder_every = 2
    holders = []
    for name in ("a", "b", "c"):
        scheduler = world.joins(name)
        world.seconds_without_leader()
        scheduler.leave()
        holders.append(world.election.holder())
    assert holders == ["", "b", ""]


def test_an_emptied_lease_is_free_at_once(worlds: Worlds) -> None:
    world = worlds()
    world.joins("dead").leave(released=False)
    world.joins("canary", CANARY)
    assert world.election.holder() == "dead"
    world.api.patch(*LEASE, {"spec": {"holderIdentity": ""}})
    assert world.seconds_without_leader() <= 0.45


def test_who_cannot_renew_gives_up_at_its_deadline(worlds: Worlds) -> None:
    for durations, deadline in ((MAIN, 10), ((15.0, 3.0, 0.2), 3)):
        world = worlds()
        leader = world.joins("leader", durations)
        world.simulation.run(20)
        world.api.is_up = False
        world.simulation.run(20)
        assert leader.lost_at is not None
        assert deadline - 2.01 <= leader.lost_at - 20 <= deadline + 0.01


def test_who_is_robbed_of_the_lease_gives_up_too(worlds: Worlds) -> None:
    world = worlds()
    leader = world.joins("leader")
    world.simulation.run(10)
    world.api.patch(*LEASE, {"spec": {"holderIdentity": "robber"}})
    world.simulation.run(10.1)
    assert leader.lost_at is not None
    assert world.election.holder() == "robber"
