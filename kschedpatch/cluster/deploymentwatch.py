"""Waits for a Deployment's roll-out, as `kubectl rollout status` does, and for what proves more."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from kschedpatch.cluster.kubectl import UNANSWERED, Kubectl
from kschedpatch.core.deployment.progress import (
    Sign,
    fatal_sign,
    hosts_of,
    new_pods,
    restarts,
    still_coming,
)
from kschedpatch.core.objects.readiness import Verdict, verdict
from kschedpatch.core.objects.troubles import last_warnings, pod_trouble, selector_of
from kschedpatch.model.clusterplan import Object
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.rollout import FailureReason

_LOOK = 1.0
#: An old holder that did not give its lease back is waited for.
_LEASE = 60.0
Say = Callable[[str], None]


class RolloutFailed(Exception):
    def __init__(
        self,
        reason: FailureReason,
        detail: str,
        log: tuple[str, ...] = (),
        lines: tuple[str, ...] = (),
    ) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.log, self.lines = reason, detail, log, lines


class Limits(NamedTuple):
    ready: float
    """Seconds that a pod may take, once its image is there."""
    image: float
    settle: float


class Look(NamedTuple):
    deployment: Object
    verdict: Verdict
    pods: tuple[Object, ...]
    """The new ones."""


class Watch:
    def __init__(
        self, kubectl: Kubectl, target: DeploymentTarget, say: Say, go_on: Callable[[], None]
    ) -> None:
        """``go_on`` raises where nobody waits any more."""
        self._kubectl = kubectl
        self._target = target
        self._say = say
        self._go_on = go_on

    def look(self) -> Look | None:
        """None: there is no such Deployment."""
        target = self._target
        [*found] = self._kubectl.get_all([target.ref.bare]).items
        if not found:
            return None
        live, chosen = found[0], selector_of(found[0])
        sets = self._kubectl.listed("replicasets.apps", target.namespace, "-l", chosen)
        pods = self._kubectl.listed("pods", target.namespace, "-l", chosen)
        alive = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
        return Look(live, verdict(live), new_pods(live, sets, alive))

    def until_ready(self, limits: Limits) -> Look:
        """Ready, and still so after a while, with no restart in between."""
        ready = self._ready(limits)
        counted, end = restarts(ready.pods), time.monotonic() + limits.settle
        while time.monotonic() < end:
            self._go_on()
            time.sleep(min(_LOOK, max(0.1, end - time.monotonic())))
            now = self._try() or ready
            self._fail_on_sign(fatal_sign(now.pods))
            if restarts(now.pods) != counted:
                ready, counted = self._ready(limits), restarts(now.pods)
        return ready

    def _ready(self, limits: Limits) -> Look:
        began = time.monotonic()
        last: Look | None = None
        while True:
            self._go_on()
            seen = self._try()
            last = seen or last
            if seen is not None:
                if seen.verdict.ready:
                    return seen
                self._fail_on_sign(fatal_sign(seen.pods))
                if seen.verdict.failed:
                    raise self._failed(seen, seen.verdict.told)
                self._say(_told(seen))
            waited = time.monotonic() - began
            coming = last is not None and still_coming(last.pods)
            if waited > (max(limits.image, limits.ready) if coming else limits.ready):
                if last is None:
                    raise RolloutFailed(FailureReason.LOST, "the API server does not answer")
                raise self._failed(last, f"{last.verdict.told}, after {waited:.0f} s")
            time.sleep(_LOOK)

    def _try(self) -> Look | None:
        try:
            seen = self.look()
        except UNANSWERED as error:
            self._say(f"the API server does not answer: {str(error).splitlines()[0]}")
            return None
        if seen is None:
            raise RolloutFailed(FailureReason.FOREIGN, f"{self._target.title} is gone")
        return seen

    def _fail_on_sign(self, sign: Sign | None) -> None:
        if sign is None:
            return
        log: tuple[str, ...] = ()
        if sign.container:
            try:
                log = self._kubectl.last_lines(self._target.namespace, sign.pod, sign.container)
            except UNANSWERED:
                log = ()
        raise RolloutFailed(sign.reason, sign.told, log, self._events((sign.pod,)))

    def _failed(self, seen: Look, told: str) -> RolloutFailed:
        lines = tuple(filter(None, map(pod_trouble, seen.pods)))
        names = (self._target.name, *(str(pod["metadata"]["name"]) for pod in seen.pods[:3]))
        log: tuple[str, ...] = ()
        for pod in seen.pods[:1]:
            for container in pod["spec"]["containers"][:1]:
                try:
                    name = str(pod["metadata"]["name"])
                    log = self._kubectl.last_lines(
                        self._target.namespace, name, str(container["name"])
                    )
                except UNANSWERED:
                    continue
        detail = f"{self._target.title}: {told}"
        return RolloutFailed(FailureReason.NOT_READY, detail, log, lines + self._events(names))

    def _events(self, names: tuple[str, ...]) -> tuple[str, ...]:
        chosen = ("--field-selector", "type=Warning")
        try:
            events = self._kubectl.listed("events", self._target.namespace, *chosen)
        except UNANSWERED:
            return ()
        return tuple(f"  event: {text}" for text in last_warnings(events, names))

    def until_leading(self, lease: str, *, alone: bool) -> str:
        """Who holds the lease. ``alone``: nobody but the new pods may hold it."""
        namespace, _, name = lease.partition("/")
        began, holder = time.monotonic(), ""
        while True:
            self._go_on()
            seen = self._try()
            try:
                found = self._kubectl.get("lease", name, namespace) or {}
            except UNANSWERED:
                found = {}
            holder = str((found.get("spec") or {}).get("holderIdentity") or "")
            hosts = hosts_of(seen.pods) if seen is not None else frozenset()
            if holder and (not alone or holder.rpartition("_")[0] in hosts):
                return holder
            if time.monotonic() - began > _LEASE:
                break
            self._say(f"waiting for the lease {lease}, held by {holder or 'nobody'}")
            time.sleep(_LOOK)
        told = f"none of the new pods took the lease {lease} within {_LEASE:.0f} s"
        held = f"{told}; it is held by {holder}" if holder else told
        if seen is None:
            raise RolloutFailed(FailureReason.NOT_READY, held)
        failed = self._failed(seen, held)
        raise RolloutFailed(FailureReason.NOT_READY, held, failed.log, failed.lines)


def _told(seen: Look) -> str:
    trouble = next(filter(None, map(pod_trouble, seen.pods)), "")
    return f"{seen.verdict.told} ({trouble})" if trouble else seen.verdict.told
