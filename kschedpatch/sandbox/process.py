"""A simulated scheduler process: it logs, serves, becomes ready, holds the lease, and ends."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from kschedpatch.core.schedconfig.election import Election
from kschedpatch.sandbox.configz import profile_names
from kschedpatch.sandbox.runtime import Container, Runtime
from kschedpatch.sandbox.simulation import Simulation, Timer
from kschedpatch.sandbox.startup import Mounted, Start

_GRACE = 30.0


class World(Protocol):
    """What a scheduler meets outside of its node."""

    def api_answers(self) -> bool: ...
    def role_exists(self, name: str) -> bool: ...
    def joins(self, process: SchedulerProcess) -> None: ...
    def leaves(self, process: SchedulerProcess, *, released: bool) -> None: ...


class SchedulerProcess:
    def __init__(
        self,
        simulation: Simulation,
        runtime: Runtime,
        world: World,
        container: Container,
        start: Start,
        *,
        node: str,
        pod: str,
        command: list[str],
        mounts: Sequence[Mounted],
        log: Path,
        changed: Callable[[], None],
        told: Callable[[str], None],
        ended: Callable[[int, str], None],
    ) -> None:
        self._simulation = simulation
        self._runtime = runtime
        self._world = world
        self._start = start
        self._log = log
        self._changed = changed
        self._told = told
        self._on_end = ended
        self._timers: list[Timer] = []
        self.container = container
        self.node = node
        self.pod = pod
        """Its name in the manifest: one node may run a main scheduler and a canary."""
        self.identity = f"{node}_{uuid.uuid4()}"
        self.pid = runtime.start_process(container, command, mounts, start.user)
        self.is_alive = True
        self._is_terminating = False
        self._held: list[Callable[[], None]] | None = None
        """What became due since SIGSTOP; None while it runs."""
        self.is_serving = False
        self.is_synced = False
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        self._begin()

    @property
    def election(self) -> Election | None:
        return self._start.election

    @property
    def is_ready(self) -> bool:
        able = self.is_alive and self.is_serving and self.is_synced and self._held is None
        return able and self._world.api_answers()

    @property
    def address(self) -> tuple[str, int]:
        return self._start.host, self._start.port

    @property
    def claims_port(self) -> bool:
        """It serves, or is about to: nobody else can listen on its port."""
        return self.is_alive and not self._is_terminating and self._start.exits is None

    @property
    def config(self) -> Mapping[str, Any]:
        return self._start.config

    @property
    def profiles(self) -> frozenset[str]:
        """The schedulerNames whose pods it schedules."""
        return profile_names(self._start.config)

    @property
    def stamps_pods(self) -> bool:
        return self._start.habits.stamps_pods

    @property
    def books_mps(self) -> bool:
        return self._start.habits.books_mps

    @property
    def breaks_on_first_pod(self) -> bool:
        return self._start.habits.breaks_on_first_pod

    def say(self, *lines: str) -> None:
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
        with self._log.open("a", encoding="utf-8") as log:
            log.writelines(f"{stamp} stderr F {line}\n" for line in lines)
        for line in lines:
            self._told(f"log: {line}")

    def info(self, source: str, text: str) -> None:
        stamp = datetime.now(UTC).strftime("%m%d %H:%M:%S.%f")
        self.say(f"I{stamp}       1 {source}] {text}")

    def _begin(self) -> None:
        exits = self._start.exits
        if exits is not None:
            # The seconds count from the kubelet's first step; the container started 0.35 s later.
            self._after(exits.after - 0.35, lambda: self._crash(exits.code, exits.reason))
            self._after(exits.after - 0.36, lambda: self.say(*exits.lines))
            return
        self._after(0.15, self._serve)
        if self._start.habits.crash_after is not None:
            self._after(self._start.habits.crash_after, self.panic)

    def _serve(self) -> None:
        host, port = self.address
        self.info("serving.go:386", "Generated self-signed cert in-memory")
        self.info("server.go:175", '"Starting Kubernetes Scheduler" version="simulated"')
        self.info("secure_serving.go:211", f"Serving securely on {host}:{port}")
        self.is_serving = True
        self._changed()
        caches = self._start.habits.fills_caches or self._simulation.between(0.2, 0.5)
        self._after(caches, self._sync)

    def _sync(self) -> None:
        """Its caches are filled: the last step before it may lead."""
        role = self._start.habits.needs_role
        if not self._start.habits.is_ever_ready or (role and not self._world.role_exists(role)):
            if role:
                who = 'User "system:kube-scheduler" cannot list resource'
                self.info("reflector.go:569", f"failed to list: forbidden: {who} ({role})")
            self._after(1.0, self._sync)
            return
        if not self._world.api_answers():
            self._after(1.0, self._sync)
            return
        self.is_synced = True
        chosen = self.election
        if chosen is not None and chosen.enabled:
            lease = f"{chosen.namespace}/{chosen.name}"
            self._tell_election("attempting to acquire leader lease", lease, "...")
        self._world.joins(self)
        self._changed()

    def leads(self, lease: str) -> None:
        self._tell_election("successfully acquired lease", lease)

    def _tell_election(self, words: str, lease: str, dots: str = "") -> None:
        if self._start.habits.speaks_as_1_35:
            text = f'"{words.capitalize()}{dots}" lock="{lease}"'
        else:
            text = f"{words} {lease}{dots}"
        self.info("leaderelection.go:257", text)

    def panic(self) -> None:
        self.say("panic: runtime error: invalid memory address or nil pointer dereference")
        self.say("goroutine 1 [running]:")
        self._crash(2, "Error")

    def lose_lease(self) -> None:
        self.say('E1116 20:00:00.000000       1 server.go:316] "Leaderelection lost"')
        self._crash(1, "Error")

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        self._timers.append(self._simulation.later(max(0.0, seconds), lambda: self.does(action)))

    def does(self, action: Callable[[], None]) -> None:
        """Now, or when it goes on."""
        if self._held is None:
            action()
        else:
            self._held.append(action)

    def stop(self) -> None:
        """SIGSTOP: its port stays open, and nobody answers there."""
        if self.is_alive and self._held is None:
            self._held = []
            self._told(f"{self.pod} is stopped")
            self._changed()

    def go_on(self) -> None:
        if self._held is None:
            return
        due, self._held = self._held, None
        self._told(f"{self.pod} goes on")
        for action in due:
            if self.is_alive and not self._is_terminating:
                action()
        self._changed()

    def _crash(self, code: int, reason: str) -> None:
        self._end(code, reason, released=False)

    def terminate(self) -> None:
        """SIGTERM: it stops serving and gives the lease back, and is gone soon after."""
        if not self.is_alive or self._is_terminating:
            return  # a second signal changes nothing
        if self._held is not None:
            # Taken when it goes on; who asked kills it after its grace.
            self._held.append(self.terminate)
            self._simulation.later(_GRACE, self._kill_if_stopped)
            return
        self._is_terminating = True
        for timer in self._timers:
            timer.cancel()
        self.is_serving = self.is_synced = False
        self._world.leaves(self, released=True)
        self._changed()
        done = self._simulation.between(0.1, 0.3)
        self._after(done, lambda: self._end(0, "Completed", released=True))

    def _kill_if_stopped(self) -> None:
        if self._held is not None:
            self.kill()

    def kill(self) -> None:
        """Gone without a word: the node lost power, or SIGKILL."""
        self._end(137, "Error", released=False)

    def _end(self, code: int, reason: str, *, released: bool) -> None:
        if not self.is_alive:
            return
        for timer in self._timers:
            timer.cancel()
        self.is_alive = self.is_serving = self.is_synced = False
        self._runtime.end_process(self.pid)
        self._runtime.exited(self.container.id, code, reason, self._simulation.moment())
        self._world.leaves(self, released=released)
        self._changed()
        self._on_end(code, reason)
