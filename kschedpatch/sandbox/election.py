"""Leader election among the schedulers of a sandbox, through Lease objects of its API server.

As client-go does it: each scheduler looks at the lease by its own clock and its own durations,
and trusts a foreign lease for as long as it has not seen it change.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kschedpatch.sandbox.apiserver import ApiServer, Object
from kschedpatch.sandbox.process import SchedulerProcess
from kschedpatch.sandbox.simulation import Simulation, Timer

_JITTER = 1.2

Lease = tuple[str, str]
SCHEDULER_LEASE: Lease = ("kube-system", "kube-scheduler")


class Durations(NamedTuple):
    lease: float
    renew: float
    retry: float


_DEFAULTS = Durations(15.0, 10.0, 2.0)


class Candidate:
    """One scheduler that holds the lease or waits for it."""

    def __init__(self, process: SchedulerProcess) -> None:
        chosen = process.election
        given = chosen.durations if chosen else (None, None, None)
        pairs = zip(given, _DEFAULTS, strict=True)
        self.process = process
        self.lease: Lease = (chosen.namespace, chosen.name) if chosen else ("", "")
        self.durations = Durations(*(default if own is None else own for own, default in pairs))
        self.is_leading = False
        self.renewed = 0.0
        self.next_attempt: Timer | None = None
        self._seen: dict[str, Any] = {}
        self._age = 0.0

    def trusts(self, spec: dict[str, Any]) -> bool:
        """Whether who holds the lease may still live, for all that this one has seen of it."""
        if spec != self._seen:
            self._seen, self._age = spec, 0.0
        return bool(spec.get("holderIdentity")) and self._age < self.durations.lease

    def waits(self, seconds: float, attempt: Timer) -> None:
        # Counted by its own waits and not by the clock: a machine that stalls ages no lease.
        self._age += seconds
        self.next_attempt = attempt


class LeaderElection:
    def __init__(
        self,
        simulation: Simulation,
        api: ApiServer,
        leads: Callable[[SchedulerProcess | None], None],
    ) -> None:
        self._simulation = simulation
        self._api = api
        self._leads = leads
        self._candidates: list[Candidate] = []
        self._releases = 0
        self.keep_dead_holder_every = 0
        """One in so many releases fails, as it does when a renewal commits first; 0: none."""

    def joins(self, process: SchedulerProcess) -> None:
        """The first attempt comes at once; those after it by the candidate's retry period."""
        if process.election is None or not process.election.enabled:
            return
        candidate = Candidate(process)
        self._candidates.append(candidate)
        self._attempt(candidate)

    def leaves(self, process: SchedulerProcess, *, released: bool) -> None:
        candidate = next((c for c in self._candidates if c.process is process), None)
        if candidate is None:
            return
        self._candidates.remove(candidate)
        if candidate.next_attempt is not None:
            candidate.next_attempt.cancel()
        if self.holder(candidate.lease) != process.identity:
            return
        if released and self._api.is_up:
            self._releases += 1
            every = self.keep_dead_holder_every
            if not every or self._releases % every:
                self._write(candidate.lease, "", 1.0)
        self._tell_leader(candidate.lease)

    def leader(self, lease: Lease = SCHEDULER_LEASE) -> SchedulerProcess | None:
        holder = self.holder(lease)
        return next((c.process for c in self._candidates if c.process.identity == holder), None)

    def holder(self, lease: Lease = SCHEDULER_LEASE) -> str:
        return str(self._spec(lease).get("holderIdentity") or "")

    def _spec(self, lease: Lease) -> dict[str, Any]:
        found = self._api.find("Lease", lease[1], lease[0])
        return dict(found["spec"]) if found else {}

    def _attempt(self, candidate: Candidate) -> None:
        if candidate.is_leading:
            self._renew(candidate)
        else:
            self._try_to_acquire(candidate)

    def _try_to_acquire(self, candidate: Candidate) -> None:
        lease, retry = candidate.lease, candidate.durations.retry
        if not self._api.is_up or candidate.trusts(self._spec(lease)):
            self._tell_leader(lease)
            self._again(candidate, self._simulation.between(retry, retry * (1 + _JITTER)))
            return
        identity = candidate.process.identity
        self._write(lease, identity, candidate.durations.lease, acquired=True)
        candidate.is_leading, candidate.renewed = True, self._simulation.moment()
        candidate.process.leads(f"{lease[0]}/{lease[1]}")
        self._tell_leader(lease)
        self._again(candidate, retry)

    def _renew(self, candidate: Candidate) -> None:
        now, durations = self._simulation.moment(), candidate.durations
        identity = candidate.process.identity
        # One that somebody has emptied it takes back; one that another holds is lost to it.
        if self._api.is_up and self.holder(candidate.lease) in {identity, ""}:
            self._write(candidate.lease, identity, durations.lease)
            candidate.renewed = now
        self._tell_leader(candidate.lease)
        left = candidate.renewed + durations.renew - now
        if left < 0.01:
            candidate.process.lose_lease()
        else:
            self._again(candidate, min(durations.retry, left))

    def _again(self, candidate: Candidate, seconds: float) -> None:
        attempt = self._simulation.later(
            seconds, lambda: candidate.process.does(lambda: self._attempt(candidate))
        )
        candidate.waits(seconds, attempt)

    def _write(self, lease: Lease, holder: str, duration: float, *, acquired: bool = False) -> None:
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = self._spec(lease) or {"leaseTransitions": 0}
        spec |= {"holderIdentity": holder, "renewTime": stamp}
        spec |= {"leaseDurationSeconds": int(duration)}
        if acquired:
            spec |= {"acquireTime": stamp, "leaseTransitions": spec["leaseTransitions"] + 1}
        item: Object = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": lease[1], "namespace": lease[0]},
            "spec": spec,
        }
        self._api.apply(item)

    def _tell_leader(self, lease: Lease) -> None:
        if lease == SCHEDULER_LEASE:
            self._leads(self.leader(lease))
