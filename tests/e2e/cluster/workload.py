"""Work for the scheduler: Node objects to choose from, and a stream of pods to place on them.

The nodes exist in the API only. Their leases are renewed as a kubelet would,
so they stay Ready; nothing runs there.
"""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from types import TracebackType

from .api import Api, ApiError, Object, named
from .console import RigError, wait_until

_NODES = "/api/v1/nodes"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_PODS = "/api/v1/namespaces/default/pods"
LABEL = "kschedpatch.io/fake-node"
_RENEW_SECONDS = 5.0
"""The controller manager gives up on a node after 40 s."""
_WATCH_SECONDS = 5
_RESOURCES = {"cpu": "32", "memory": "64Gi", "pods": "500", "ephemeral-storage": "100Gi"}


@contextmanager
def fake_nodes(
    api: Api,
    wanted: int | Sequence[str],
    *,
    labels: Mapping[str, str] | None = None,
    resources: Mapping[str, str] | None = None,
) -> Iterator[list[str]]:
    """Schedulable nodes that stay Ready while the block runs: by name, or so many `fake-1`…"""
    if isinstance(wanted, int):
        wanted = [f"fake-{number}" for number in range(1, wanted + 1)]
    names = list(wanted)
    there = {**_RESOURCES, **(resources or {})}
    end = threading.Event()
    renewer = threading.Thread(target=_keep_ready, args=(api, names, end), daemon=True)
    try:
        for name in names:
            _create_node(api, name, labels or {}, there)
        renewer.start()
        for name in names:
            wait_until(f"{name} without taints", partial(_schedulable, api, name), 60)
        yield names
    finally:
        end.set()
        if renewer.is_alive():
            renewer.join(timeout=30)
        for name in names:
            api.delete(named(_NODES, name))
            api.delete(named(_LEASES, name))


def _create_node(
    api: Api, name: str, labels: Mapping[str, str], resources: Mapping[str, str]
) -> None:
    api.create(
        _NODES,
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {
                    LABEL: "true",
                    "kubernetes.io/hostname": name,
                    "kubernetes.io/os": "linux",
                    **labels,
                },
            },
        },
    )
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    healthy = {
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
        "reason": "Rig",
        "message": "exists in the API only",
    }
    conditions = [{"type": "Ready", "status": "True", **healthy}]
    conditions += [
        {"type": f"{what}Pressure", "status": "False", **healthy}
        for what in ("Memory", "Disk", "PID")
    ]
    status = {"capacity": resources, "allocatable": resources, "conditions": conditions}
    api.patch(f"{named(_NODES, name)}/status", {"status": status})
    _renew(api, name)


def _renew(api: Api, name: str) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now}
    try:
        api.patch(named(_LEASES, name), {"spec": spec})
    except ApiError as error:
        if error.status != 404:
            raise
        kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
        api.create(_LEASES, {**kind, "spec": spec})


def _keep_ready(api: Api, names: list[str], end: threading.Event) -> None:
    while not end.wait(_RENEW_SECONDS):
        for name in names:
            # An API server that is just rebooting: the next round is early enough.
            with contextlib.suppress(RigError):
                _renew(api, name)


def _schedulable(api: Api, name: str) -> bool:
    return not api.get(named(_NODES, name))["spec"].get("taints")


@dataclass(frozen=True)
class Placement:
    pod: str
    node: str | None
    waited: float | None
    """Seconds from creation to binding; None while it is not bound."""
    created: float
    """On the monotonic clock: what a slow API server takes to create it is no wait for a node."""


@dataclass
class PodStream:
    """Creates pods at a steady pace while its block runs, and sees where they go."""

    api: Api
    per_second: float = 5.0
    scheduler: str = "default-scheduler"
    prefix: str = "stream"
    _created: dict[str, float] = field(default_factory=dict)
    _seen: dict[str, float] = field(default_factory=dict)
    _bound: dict[str, tuple[str, float]] = field(default_factory=dict)
    _moved: list[str] = field(default_factory=list)
    _refused: list[str] = field(default_factory=list)
    _end: threading.Event = field(default_factory=threading.Event)
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: dict[str, threading.Thread] = field(default_factory=dict)

    def __enter__(self) -> PodStream:
        for name, target in (("watch", self._watch), ("create", self._create)):
            self._threads[name] = threading.Thread(target=target, daemon=True)
            self._threads[name].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        # A last pod may be on its way, and counts.
        self._threads["create"].join(timeout=30)
        if kind is None:
            with contextlib.suppress(RigError):
                self.wait_bound()
        self._over.set()
        self._threads["watch"].join(timeout=_WATCH_SECONDS + 5)
        self._remove()

    def _remove(self) -> None:
        mine = f"{_PODS}?labelSelector=app%3D{self.prefix}"
        # In portions: the API server deletes one by one, and hundreds take longer than its answer
        # may take.
        while self.api.get(f"{mine}&limit=1")["items"]:
            self.api.delete(f"{mine}&limit=100&gracePeriodSeconds=0")

    def wait_bound(self, timeout: float = 60) -> None:
        """Until every pod that was created has a node."""
        wait_until(
            "nodes for all pods of the stream",
            lambda: self._created.keys() <= self._bound.keys(),
            timeout,
        )

    def placements(self) -> list[Placement]:
        placements = []
        for pod, answered in sorted(self._created.items(), key=lambda item: item[1]):
            # It exists at the latest when the API server says so, here or in the watch.
            created = min(answered, self._seen.get(pod, answered))
            node, at = self._bound.get(pod, (None, None))
            waited = None if at is None else max(0.0, at - created)
            placements.append(Placement(pod, node, waited, created))
        return placements

    def longest_wait(self) -> float:
        waits = [placement.waited for placement in self.placements()]
        if not waits or None in waits:
            raise RigError(f"{waits.count(None)} of {len(waits)} pods of the stream have no node")
        return max(wait for wait in waits if wait is not None)

    @property
    def moved(self) -> list[str]:
        """Pods that were seen on two nodes: never to happen."""
        return self._moved

    @property
    def refused(self) -> list[str]:
        """Errors of the API at creation, other than a lost connection."""
        return self._refused

    def _create(self) -> None:
        number, due = 0, time.monotonic()
        # By the clock, so that the requests' own time does not slow the pace; what an API server
        # without an answer held up is not made up for in a burst.
        while not self._end.wait(max(0.0, due - time.monotonic())):
            number, due = number + 1, max(due + 1 / self.per_second, time.monotonic())
            name = f"{self.prefix}-{number}"
            while not self._over.is_set():
                try:
                    self.api.create(_PODS, self._pod(name))
                except ApiError as error:
                    # The first attempt's answer was lost, the pod is there.
                    if error.status != 409:
                        self._refused.append(str(error))
                        break
                except RigError:
                    time.sleep(0.2)
                    continue
                self._created[name] = time.monotonic()
                break

    def _watch(self) -> None:
        path, version = f"{_PODS}?labelSelector=app%3D{self.prefix}&allowWatchBookmarks=true", ""
        while not self._over.is_set():
            # From where the last one ended: to see all pods anew takes as long as a binding.
            since = f"&resourceVersion={version}" if version else ""
            try:
                for event in self.api.watch(path + since, _WATCH_SECONDS):
                    version = event["object"]["metadata"]["resourceVersion"]
                    self._see(event["object"])
                    if self._over.is_set():
                        return
            except (OSError, RigError, ValueError, http.client.HTTPException):
                version = ""
                time.sleep(0.1)

    def _see(self, pod: Object) -> None:
        name = pod.get("metadata", {}).get("name", "")
        node = pod.get("spec", {}).get("nodeName")
        self._seen.setdefault(name, time.monotonic())
        if not node:
            return
        if name in self._bound and self._bound[name][0] != node:
            self._moved.append(name)
        self._bound.setdefault(name, (node, time.monotonic()))

    def _pod(self, name: str) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": self.prefix}},
            "spec": {
                "schedulerName": self.scheduler,
                "nodeSelector": {LABEL: "true"},
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": "registry.k8s.io/pause:rig"}],
            },
        }
