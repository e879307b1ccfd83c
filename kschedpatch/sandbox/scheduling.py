"""What the leading scheduler does with pods: it binds them, or says why it cannot."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from kschedpatch.sandbox.apiserver import ApiServer, Object
from kschedpatch.sandbox.election import LeaderElection
from kschedpatch.sandbox.secondschedulers import SecondSchedulers
from kschedpatch.sandbox.simulation import Simulation

_ROUND = 0.3
_MPS = "nvidia.com/mps"


class Scheduling:
    def __init__(
        self,
        simulation: Simulation,
        api: ApiServer,
        election: LeaderElection,
        seconds: SecondSchedulers,
    ) -> None:
        self._api = api
        self._election = election
        self._seconds = seconds
        self.stop = simulation.every(_ROUND, self._round)

    def _round(self) -> None:
        if not self._api.is_up:
            return
        leader = self._election.leader()
        for pod in self._api.all("Pod"):
            if pod.get("spec", {}).get("nodeName") or _is_decided(pod):
                continue
            second = self._seconds.serving(_scheduler_name(pod))
            if second:
                self._decide(pod, second, stamps=False)
                continue
            if leader is None or not leader.is_ready:
                continue
            if _scheduler_name(pod) not in leader.profiles:
                continue  # nobody here schedules it
            if leader.breaks_on_first_pod:
                leader.panic()
                return
            self._decide(pod, leader.node, stamps=leader.stamps_pods)
            chosen = pod["spec"].get("nodeName")
            if chosen and leader.books_mps and _MPS in (pod["metadata"].get("annotations") or {}):
                name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
                leader.info("gpumps.go:82", f'"GPUMPSPlugin Reserve" pod="{name}" node="{chosen}"')

    def _decide(self, pod: Object, host: str, *, stamps: bool) -> None:
        wanted = pod["spec"].get("nodeSelector") or {}
        nodes = list(self._api.all("Node"))
        fits = [n for n in nodes if wanted.items() <= n["metadata"].get("labels", {}).items()]
        fits = [n for n in fits if not _is_kept_away(pod, n)]
        fits = [] if _asks_the_impossible(pod) else fits
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition: dict[str, Any] = {"type": "PodScheduled", "lastTransitionTime": now}
        if fits:
            pod["spec"]["nodeName"] = fits[0]["metadata"]["name"]
            condition |= {"status": "True"}
            if stamps and len(fits) > 1:
                notes = pod["metadata"].setdefault("annotations", {})
                notes["Scheduler-Timestamp"] = str(time.time_ns())
            reason, message = "Scheduled", f"assigned to {pod['spec']['nodeName']}"
        else:
            reason = "Unschedulable"
            message = f"0/{len(nodes)} nodes are available: {len(nodes)} didn't match."
            condition |= {"status": "False", "reason": reason, "message": message}
        pod["status"] = {"phase": "Pending", "conditions": [condition]}
        self._api.replace(pod)
        self._event(pod, host, reason if fits else "FailedScheduling", message, now)

    def _event(self, pod: Object, node: str, reason: str, message: str, now: str) -> None:
        metadata = pod["metadata"]
        event: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{metadata['uid'][:8]}"},
            "involvedObject": {"kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]},
            "reason": reason,
            "message": message,
            "reportingComponent": _scheduler_name(pod),
            "reportingInstance": f"{_scheduler_name(pod)}-{node}",
            "lastTimestamp": now,
        }
        event["metadata"]["namespace"] = metadata["namespace"]
        self._api.apply(event)


def _scheduler_name(pod: Object) -> str:
    return str(pod["spec"].get("schedulerName") or "default-scheduler")


def _is_kept_away(pod: Object, node: Object) -> bool:
    """By a taint that no toleration of the pod names."""
    tolerated = {item.get("key") for item in pod["spec"].get("tolerations") or ()}
    taints = node.get("spec", {}).get("taints") or ()
    return any(taint["key"] not in tolerated for taint in taints)


def _is_decided(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(c.get("type") == "PodScheduled" for c in conditions)


def _asks_the_impossible(pod: Object) -> bool:
    """Extended resources, or more CPUs than a node has."""
    for container in pod["spec"].get("containers") or ():
        requests = (container.get("resources") or {}).get("requests") or {}
        limits = (container.get("resources") or {}).get("limits") or {}
        for name, amount in {**limits, **requests}.items():
            if "/" in name or (name == "cpu" and str(amount).isdigit() and int(amount) > 64):
                return True
    affinity = pod["spec"].get("affinity") or {}
    required = (affinity.get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return bool(required)
