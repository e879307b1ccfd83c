"""Records every 100 ms which scheduler is ready and who holds the lease."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from types import TracebackType

from .api import Api
from .cluster import LEASE, Cluster
from .console import RigError, wait_until
from .loopback import PATIENCE, LoopbackProbe
from .node import SCHEDULER_PORT, Node
from .record import Attribution, Claim, Process, Record, Sample

INTERVAL = 0.1
# A main pod renews every 2 s, a canary every 0.2 s; a holder that has not for this long does no
# work, whatever it says.
_STALE_SECONDS = 5.0
# Out of the API server's memory; without it each reading is a round of etcd's members.
_CACHED_LEASE = f"{LEASE}?resourceVersion=0"


@dataclass
class Sampler:
    """A context manager: samples while its block runs; `record` has the result.

    With two schedulers on one node (a canary) name both ports, or the holder
    on the other one is taken for a dead one.
    """

    cluster: Cluster
    ports: tuple[int, ...] = (SCHEDULER_PORT,)
    _ready: dict[tuple[str, int], Process | None] = field(default_factory=dict)
    _lease: tuple[str | None, bool] | None = None
    _attribution: Attribution = field(default_factory=Attribution)
    _claiming: threading.Lock = field(default_factory=threading.Lock)
    _samples: list[Sample] = field(default_factory=list)
    _end: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _started: float = 0.0

    def __enter__(self) -> Sampler:
        self._started = time.monotonic()
        for node in self.cluster.nodes:
            for port in self.ports:
                self._start(self._watch_scheduler, node, port)
        self._start(self._watch_lease)
        # A sample before everybody's first answer would show an outage that is none.
        probes = len(self.cluster.nodes) * len(self.ports)
        wait_until(
            "the sampler's first answers",
            lambda: len(self._ready) == probes and self._lease is not None,
            4 * PATIENCE,
            INTERVAL,
        )
        self._start(self._take_samples)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(timeout=10)

    @property
    def record(self) -> Record:
        return Record(tuple(self._samples), dict(self._attribution.owners))

    def works_now(self) -> bool:
        return self.record.works_now()

    def since_start(self, moment: float | None = None) -> float:
        """A moment of the monotonic clock (default: now) as the samples count time."""
        return (time.monotonic() if moment is None else moment) - self._started

    def _start(self, target: object, *arguments: object) -> None:
        assert callable(target)
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _take_samples(self) -> None:
        while not self._end.wait(INTERVAL):
            ready = frozenset(process for process in self._ready.values() if process)
            holder, renewed = self._lease or (None, False)
            self._samples.append(Sample(self.since_start(), ready, holder, renewed))

    def _watch_scheduler(self, node: Node, port: int) -> None:
        probe = LoopbackProbe(node, port, self.cluster.kubeconfig)
        while not self._end.wait(INTERVAL):
            ready = probe.ready()
            self._ready[node.name, port] = probe.process if ready else None
            holder = self._lease[0] if self._lease else None
            if ready and holder and self._attribution.wanted(holder, probe.process):
                asked = probe.process
                if probe.leads():
                    with self._claiming:
                        self._attribution.claim(Claim(holder, asked, time.monotonic()))
        probe.close()

    def _watch_lease(self) -> None:
        api = Api(self.cluster.kubeconfig, timeout=2)
        seen, changed = "", time.monotonic()
        while not self._end.wait(INTERVAL):
            began = time.monotonic()
            # A claim is proven by the lease as it is, not as it was some milliseconds ago.
            path = LEASE if self._attribution.claims else _CACHED_LEASE
            try:
                spec = api.get(path)["spec"]
            except RigError:
                self._lease = (None, False)
                continue
            if spec.get("renewTime", "") != seen:
                seen, changed = spec.get("renewTime", ""), time.monotonic()
            holder = spec.get("holderIdentity") or ""
            self._lease = (holder, bool(holder) and time.monotonic() - changed < _STALE_SECONDS)
            if path == LEASE:
                with self._claiming:
                    self._attribution.read(holder, began)
