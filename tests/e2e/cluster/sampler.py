"""Records every 100 ms which scheduler is ready and who holds the lease.

Readiness is asked from inside each node's network, where the scheduler
listens on loopback: that works while the node's cable is cut, and costs it
no process.
"""

from __future__ import annotations

import ctypes
import http.client
import os
import ssl
import threading
import time
from dataclasses import dataclass, field
from types import TracebackType

from .api import Api
from .cluster import LEASE, Cluster
from .console import RigError, wait_until
from .node import SCHEDULER_PORT, Node

INTERVAL = 0.1
# The holder renews every 2 s; one that has not for this long does no work,
# even when a successor on the same node is ready by now.
_STALE_SECONDS = 5.0
_CLONE_NEWNET = 0x40000000
# A busy machine is no outage; a scheduler that says nothing for this long is one.
_PATIENCE = 3.0


@dataclass(frozen=True)
class Sample:
    at: float
    """Seconds since the sampler's start."""
    ready: frozenset[tuple[str, int]]
    """Node and port of each scheduler that says it is ready."""
    holder: str | None
    """The lease's holder identity, empty when released; None: no API server answered."""
    renewed: bool
    """The holder renewed it lately."""

    @property
    def holder_node(self) -> str:
        return (self.holder or "").rpartition("_")[0]

    @property
    def working(self) -> bool:
        """A holder that renews, on a node with a ready scheduler."""
        return self.renewed and any(node == self.holder_node for node, _ in self.ready)


@dataclass(frozen=True)
class Record:
    samples: tuple[Sample, ...]

    def outage(self) -> float:
        """The longest time, in seconds, without a ready lease holder."""
        return max((end - start for start, end in self.outages()), default=0.0)

    def outages(self) -> list[tuple[float, float]]:
        """Start and end of each such time; without an answer of the API nothing is counted."""
        return _gaps([(s.at, s.working) for s in self.samples if s.holder is not None])

    def unready(self, node: str, port: int = SCHEDULER_PORT) -> list[tuple[float, float]]:
        """Start and end of each time in which this scheduler was not ready."""
        return _gaps([(s.at, (node, port) in s.ready) for s in self.samples])

    def holders(self) -> list[str]:
        """The lease's holders in the order of their terms."""
        terms: list[str] = []
        for sample in self.samples:
            if sample.holder and (not terms or terms[-1] != sample.holder):
                terms.append(sample.holder)
        return terms


@dataclass
class Sampler:
    """A context manager: samples while its block runs; `record` has the result."""

    cluster: Cluster
    ports: tuple[int, ...] = (SCHEDULER_PORT,)
    _ready: dict[tuple[str, int], bool] = field(default_factory=dict)
    _lease: tuple[str | None, bool] | None = None
    _samples: list[Sample] = field(default_factory=list)
    _end: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Sampler:
        started = time.monotonic()
        for node in self.cluster.nodes:
            for port in self.ports:
                self._start(self._watch_readiness, node, port)
        self._start(self._watch_lease)
        # A sample before everybody's first answer would show an outage that is none.
        probes = len(self.cluster.nodes) * len(self.ports)
        wait_until(
            "the sampler's first answers",
            lambda: len(self._ready) == probes and self._lease is not None,
            4 * _PATIENCE,
            INTERVAL,
        )
        self._start(self._take_samples, started)
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
        return Record(tuple(self._samples))

    def _start(self, target: object, *arguments: object) -> None:
        assert callable(target)
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _take_samples(self, started: float) -> None:
        while not self._end.wait(INTERVAL):
            ready = frozenset(key for key, value in self._ready.items() if value)
            holder, renewed = self._lease or (None, False)
            self._samples.append(Sample(time.monotonic() - started, ready, holder, renewed))

    def _watch_readiness(self, node: Node, port: int) -> None:
        probe = _LoopbackProbe(node, port)
        while not self._end.wait(INTERVAL):
            self._ready[node.name, port] = probe.ready()
        probe.close()

    def _watch_lease(self) -> None:
        api = Api(self.cluster.kubeconfig, timeout=2)
        seen, changed = "", time.monotonic()
        while not self._end.wait(INTERVAL):
            try:
                spec = api.get(LEASE)["spec"]
            except RigError:
                self._lease = (None, False)
                continue
            if spec.get("renewTime", "") != seen:
                seen, changed = spec.get("renewTime", ""), time.monotonic()
            holder = spec.get("holderIdentity") or ""
            self._lease = (holder, bool(holder) and time.monotonic() - changed < _STALE_SECONDS)


class _LoopbackProbe:
    """Asks one scheduler over a kept connection, from within its node's network namespace."""

    def __init__(self, node: Node, port: int) -> None:
        self._node = node
        self._port = port
        self._leader = 0
        self._connection: http.client.HTTPSConnection | None = None
        # Self-signed by the scheduler, and on loopback.
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE

    def ready(self) -> bool:
        kept = self._connection is not None
        try:
            return self._ask()
        except (OSError, RigError, http.client.HTTPException) as error:
            self.close()
            # A kept connection that broke says that its scheduler ended, not that there is none.
            return kept and not isinstance(error, TimeoutError) and self.ready()

    def _ask(self) -> bool:
        self._enter()
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                "127.0.0.1", self._port, context=self._context, timeout=_PATIENCE
            )
        self._connection.request("GET", self._node.version.ready_path)
        response = self._connection.getresponse()
        response.read()
        return response.status == 200

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _enter(self) -> None:
        """A namespace is a thread's own affair, so this thread can live in the node's; after a
        reboot there is a new one."""
        leader = self._node.leader
        if leader == self._leader:
            return
        self.close()
        handle = os.open(f"/proc/{leader}/ns/net", os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(handle, _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        finally:
            os.close(handle)
        self._leader = leader


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
