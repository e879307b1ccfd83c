"""The life of one static pod: started, restarted, ended, and followed by its successor.

A pod worker of the kubelet: of pods with one name only one lives at a time. A successor that comes
while the former is not gone for good waits for the next retry, ten seconds later.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from kschedpatch.core.manifest.document import scheduler_index
from kschedpatch.sandbox.backoff import Backoff
from kschedpatch.sandbox.imagestore import pull_problem
from kschedpatch.sandbox.journal import Journal
from kschedpatch.sandbox.process import SchedulerProcess, World
from kschedpatch.sandbox.runtime import Container, Runtime
from kschedpatch.sandbox.simulation import Simulation, Timer
from kschedpatch.sandbox.startup import Start, host_mounts, scheduler_container

RETRY = 10.0
"""How often the kubelet looks whether a waiting successor may start."""


class PodSpec(NamedTuple):
    """A pod as the kubelet has read it."""

    uid: str
    name: str
    """Without the node's name."""
    namespace: str
    pod: dict[str, Any]
    file: str

    @property
    def container(self) -> dict[str, Any]:
        """The scheduler's, whatever it is called."""
        return scheduler_container(self.pod)

    @property
    def container_name(self) -> str:
        return str(self.container.get("name", ""))


class NodeSide(NamedTuple):
    """What a pod needs of its node."""

    name: str
    simulation: Simulation
    runtime: Runtime
    journal: Journal
    world: World
    backoff: Backoff
    judge: Callable[[PodSpec], Start]
    path: Callable[[str], Path]
    """A path of the node as a real path."""
    logs: Path
    changed: Callable[[], None]
    told: Callable[[str], None]
    denied: Callable[[PodSpec, Start], None]


class PodRun:
    """One stay of a pod on the node, with all restarts of its container."""

    def __init__(self, spec: PodSpec, node: NodeSide, gone: Callable[[float], None]) -> None:
        self.spec = spec
        self.process: SchedulerProcess | None = None
        self.is_ending = False
        self._is_watched = True
        self._node = node
        self._gone = gone
        self._timers: list[Timer] = []
        self._mount_delay = 0.5
        self._pulls = 0
        self._stopping: Timer | None = None

    @property
    def full_name(self) -> str:
        return f"{self.spec.namespace}/{self.spec.name}-{self._node.name}"

    @property
    def log_directory(self) -> Path:
        pod = self.full_name.replace("/", "_")
        return self._node.logs / f"{pod}_{self.spec.uid}" / self.spec.container_name

    def start(self) -> None:
        if self.is_ending or scheduler_index(self.spec.pod) is None:
            return  # other pods than schedulers only exist
        found = self._node.judge(self.spec)
        if found.obstacle == "admission":
            self._node.denied(self.spec, found)
        elif found.obstacle == "mount":
            retry = f"{self._mount_delay:g}s".replace("0.5s", "500ms")
            self._after(0.05, lambda: self._mount_failed(found, retry))
        elif found.obstacle == "image":
            self._node.runtime.sandboxes.add(self.spec.uid)
            self._after(self._node.simulation.between(0.25, 0.4), lambda: self._no_image(found))
        else:
            self._node.runtime.sandboxes.add(self.spec.uid)
            self._restart_or_start(found)

    def _mount_failed(self, found: Start, retry: str) -> None:
        self._node.journal.mount_failed(
            self.full_name, self.spec.uid, found.volume, found.detail, retry
        )
        self._after(self._mount_delay, self.start)
        self._mount_delay = min(122.0, self._mount_delay * 2)

    def _no_image(self, found: Start) -> None:
        image = found.detail
        if self.spec.container.get("imagePullPolicy") == "Never":
            text = f'Container image "{image}" is not present with pull policy of Never'
            self._not_started("ErrImageNeverPull", text)
        elif self._pulls % 2 == 0:
            self._node.journal.pull_failed(image, pull_problem(image))
            self._not_started("ErrImagePull", pull_problem(image))
        else:
            text = f'Back-off pulling image "{image}": ErrImagePull: {pull_problem(image)}'
            self._not_started("ImagePullBackOff", text)
        self._pulls += 1
        self._after(1.0 if self._pulls == 1 else RETRY, self.start)

    def _not_started(self, reason: str, message: str) -> None:
        spec = self.spec
        self._node.journal.not_started(
            spec.container_name, self.full_name, spec.uid, reason, message
        )

    def _restart_or_start(self, found: Start) -> None:
        """A recorded container of this UID makes it a restart, with the kubelet's back-off."""
        former = self._node.runtime.last_exited(self.spec.uid)
        now = self._node.simulation.moment()
        if former is not None:
            wait = self._node.backoff.wait(self.spec.uid, former.finished, now)
            if wait > 0:
                delay = self._node.backoff.delay(self.spec.uid)
                text = (
                    f"back-off {delay:g}s restarting failed container={self.spec.container_name} "
                    f"pod={self.full_name.partition('/')[2]}_{self.spec.namespace}({self.spec.uid})"
                )
                self._not_started("CrashLoopBackOff", text)
                self._after(wait + self._node.simulation.between(0.2, 1.5), self.start)
                return
        attempt = self._next_attempt(former)
        pull = 1.5 if found.needs_pull else 0.0
        self._after(0.35 + pull, lambda: self._create(found, attempt))

    def _next_attempt(self, former: Container | None) -> int:
        if former is not None:
            return former.attempt + 1
        # Without a record the kubelet counts the log files that are there.
        logs = [p.stem for p in self.log_directory.glob("*.log")]
        counts = [int(stem) for stem in logs if re.fullmatch(r"\d+", stem)]
        return max(counts) + 1 if counts else 0

    def _create(self, found: Start, attempt: int) -> None:
        chosen, node = self.spec.container, self._node
        image = str(chosen.get("image", ""))
        node.runtime.images.add(image)
        container = node.runtime.create(self.spec.uid, self.spec.container_name, attempt, image)
        node.told(f"container {attempt} of {self.spec.name} {self.spec.uid[:8]} started")
        self.process = SchedulerProcess(
            node.simulation,
            node.runtime,
            node.world,
            container,
            found,
            node=node.name,
            pod=self.spec.name,
            mounts=host_mounts(self.spec.pod, node.path),
            command=[str(w) for w in (*(chosen.get("command") or ()), *(chosen.get("args") or ()))],
            log=self.log_directory / f"{attempt}.log",
            changed=node.changed,
            told=node.told,
            ended=self._ended,
        )
        node.changed()

    def _ended(self, code: int, reason: str) -> None:
        self._node.told(f"{self.spec.name} {self.spec.uid[:8]} ended: {code} {reason}")
        if self.is_ending:
            self._stop_sandbox(self._node.simulation.between(0.15, 0.35), 1.2)
        elif self._is_watched:
            self._after(self._node.simulation.between(0.3, 0.8), self.start)

    def end(self) -> None:
        """The kubelet ends the pod; ``gone`` is called when nothing of it runs any more."""
        if self.is_ending:
            return
        self.is_ending = True
        for timer in self._timers:
            timer.cancel()
        if self.process is not None and self.process.is_alive:
            self.process.terminate()
        elif self.spec.uid not in self._node.runtime.sandboxes:
            self._gone(self._node.simulation.between(0.5, 1.0))
        else:
            # It waited in its back-off: the kubelet is in no hurry with the pod's sandbox.
            self._stop_sandbox(self._node.simulation.between(1.0, 2.0), 0.8)

    def _stop_sandbox(self, seconds: float, clean_up: float) -> None:
        """After it the pod's worker needs a moment more before its name is free."""

        def stopped() -> None:
            self._node.runtime.sandboxes.discard(self.spec.uid)
            self._gone(clean_up)

        self._stopping = self._node.simulation.later(seconds, stopped)

    def lose_power(self) -> None:
        self.is_ending = True
        self._node.runtime.sandboxes.discard(self.spec.uid)
        # Not among the timers: a runtime stops a sandbox even when the kubelet has just ended.
        for timer in (*self._timers, *filter(None, [self._stopping])):
            timer.cancel()
        if self.process is not None:
            self.process.kill()

    def forget_worker(self) -> None:
        """The kubelet stops: nobody restarts the container, which goes on running."""
        self._is_watched = False
        for timer in self._timers:
            timer.cancel()

    def take_over(self) -> None:
        """A kubelet that has just started: a container that ended meanwhile starts again."""
        self._is_watched = True
        if self.process is None or not self.process.is_alive:
            self.start()

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        def unless_ending() -> None:
            if not self.is_ending:
                action()

        self._timers.append(self._node.simulation.later(seconds, unless_ending))


class PodSlot:
    """The place of one pod name on the node: who lives there and who waits for it."""

    def __init__(self, node: NodeSide) -> None:
        self._node = node
        self.run: PodRun | None = None
        self.wanted: PodSpec | None = None
        self._free_at = 0.0
        self._last_uid = ""
        self._retry: Timer | None = None

    def want(self, spec: PodSpec | None) -> None:
        """The kubelet's source says what should live here (None: nobody)."""
        if (spec and spec.uid) == (self.wanted and self.wanted.uid):
            return
        self.wanted = spec
        if self._retry is not None:
            self._retry.cancel()
        if self.run is not None and not (spec and spec.uid == self.run.spec.uid):
            self.run.end()
        if spec is not None:
            self._try()

    def _try(self) -> None:
        spec, now = self.wanted, self._node.simulation.moment()
        if spec is None or (self.run is not None and not self.run.is_ending):
            return
        if self.run is None and now >= self._free_at:
            self.run = PodRun(spec, self._node, self._gone)
            self._last_uid = spec.uid
            self.run.start()
            return
        again = self._node.simulation.between(RETRY + 0.8, RETRY + 2.0)
        leaving = self.run.spec.uid if self.run is not None else self._last_uid
        if spec.uid == leaving:
            # The one that leaves is wanted back: it starts again as soon as it is gone.
            again = 0.3 if self.run is not None else self._free_at - now + 0.1
        self._retry = self._node.simulation.later(again, self._try)

    def _gone(self, clean_up: float) -> None:
        """The process has ended; the worker needs a moment more before the name is free."""
        self.run = None
        self._free_at = self._node.simulation.moment() + clean_up
        self._node.changed()

    def adopt(self, spec: PodSpec) -> None:
        """A kubelet that has just started finds the pod it wants there already."""
        self.wanted = spec
        if self.run is not None:
            self.run.take_over()

    def forget(self) -> None:
        """The kubelet stops: what it knew of workers is gone, and nobody starts who waits."""
        self._free_at = 0.0
        self.wanted = None
        if self._retry is not None:
            self._retry.cancel()
        if self.run is not None:
            self.run.forget_worker()
