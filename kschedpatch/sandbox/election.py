"""Leader election among the schedulers of a sandbox, through Lease objects of its API server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from kschedpatch.sandbox.apiserver import ApiServer, Object
from kschedpatch.sandbox.process import SchedulerProcess
from kschedpatch.sandbox.simulation import Simulation

_TICK = 0.5
_RETRY = 2.0
_RENEW_DEADLINE = 10.0
_DURATION = 15.0

Lease = tuple[str, str]


class LeaderElection:
    def __init__(
        self, simulation: Simulation, api: ApiServer, leads: Callable[[str], None]
    ) -> None:
        self._simulation = simulation
        self._api = api
        self._leads = leads
        self._candidates: list[SchedulerProcess] = []
        self._renewed: dict[Lease, float] = {}
        self._free_from: dict[Lease, float] = {}
        self._releases = 0
        self.keep_dead_holder_every = 0
        """One in so many releases fails, as it does when a renewal commits first; 0: none."""
        self.stop = simulation.every(_TICK, self._tick)

    def joins(self, process: SchedulerProcess) -> None:
        if process.election is None or not process.election.enabled:
            return
        self._candidates.append(process)
        lease = _lease(process)
        if self._api.is_up and self._is_free(lease):
            self._acquire(process)  # the first attempt comes at once; later ones every 2 s

    def leaves(self, process: SchedulerProcess, *, released: bool) -> None:
        if process not in self._candidates:
            return
        self._candidates.remove(process)
        lease = _lease(process)
        if self.holder(lease) != process.identity:
            return
        if released and self._api.is_up:
            self._releases += 1
            every = self.keep_dead_holder_every
            if not every or self._releases % every:
                self._write(lease, "", 1)
                self._free_from[lease] = self._now() + self._simulation.between(1.2, 2.4)
        self._tell_leader(lease)

    def leader(self, lease: Lease = ("kube-system", "kube-scheduler")) -> SchedulerProcess | None:
        holder = self.holder(lease)
        return next((c for c in self._candidates if c.identity == holder), None)

    def holder(self, lease: Lease = ("kube-system", "kube-scheduler")) -> str:
        found = self._api.find("Lease", lease[1], lease[0])
        return str(found["spec"].get("holderIdentity") or "") if found else ""

    def _now(self) -> float:
        return self._simulation.now()

    def _is_free(self, lease: Lease) -> bool:
        if not self.holder(lease):
            return True
        return self._now() - self._renewed.get(lease, -100.0) > _DURATION

    def _acquire(self, process: SchedulerProcess) -> None:
        lease = _lease(process)
        self._write(lease, process.identity, int(_DURATION), acquired=True)
        self._free_from.pop(lease, None)
        where = f"{lease[0]}/{lease[1]}"
        process.info("leaderelection.go:271", f"successfully acquired lease {where}")
        self._tell_leader(lease)

    def _tick(self) -> None:
        for lease in {_lease(process) for process in self._candidates}:
            self._tick_lease(lease)

    def _tick_lease(self, lease: Lease) -> None:
        now, leader = self._now(), self.leader(lease)
        if leader is not None:
            since = now - self._renewed.get(lease, now)
            if self._api.is_up and since >= _RETRY:
                self._write(lease, leader.identity, int(_DURATION))
            elif since > _RENEW_DEADLINE:
                leader.lose_lease()
            return
        self._tell_leader(lease)
        if not self._api.is_up or not self._is_free(lease):
            return
        # Standbys ask every two seconds or so: somebody does a moment after it became free.
        ready = self._free_from.setdefault(lease, now + self._simulation.between(0.5, 2.0))
        waiting = [c for c in self._candidates if _lease(c) == lease and c.is_ready]
        if now >= ready and waiting:
            self._acquire(self._simulation.chance.choice(waiting))

    def _write(self, lease: Lease, holder: str, duration: int, *, acquired: bool = False) -> None:
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        present = self._api.find("Lease", lease[1], lease[0])
        spec: dict[str, Any] = dict((present or {}).get("spec") or {"leaseTransitions": 0})
        spec |= {"holderIdentity": holder, "leaseDurationSeconds": duration, "renewTime": stamp}
        if acquired:
            spec |= {"acquireTime": stamp, "leaseTransitions": spec["leaseTransitions"] + 1}
        item: Object = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": lease[1], "namespace": lease[0]},
            "spec": spec,
        }
        self._api.apply(item)
        self._renewed[lease] = self._now()

    def _tell_leader(self, lease: Lease) -> None:
        if lease == ("kube-system", "kube-scheduler"):
            leader = self.leader(lease)
            self._leads(leader.node if leader else "")


def _lease(process: SchedulerProcess) -> Lease:
    chosen = process.election
    return (chosen.namespace, chosen.name) if chosen else ("", "")
