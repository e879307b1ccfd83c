"""What the leading scheduler does with pods: it binds them, or says why it cannot."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kschedpatch.sandbox.apiserver import ApiServer, Object
from kschedpatch.sandbox.election import LeaderElection
from kschedpatch.sandbox.simulation import Simulation

_ROUND = 0.3


class Scheduling:
    def __init__(self, simulation: Simulation, api: ApiServer, election: LeaderElection) -> None:
        self._api = api
        self._election = election
        self.stop = simulation.every(_ROUND, self._round)

    def _round(self) -> None:
        leader = self._election.leader()
        if leader is None or not leader.is_ready or not self._api.is_up:
            return
        for pod in self._api.all("Pod"):
            if pod.get("spec", {}).get("nodeName") or _is_decided(pod):
                continue
            if leader.breaks_on_first_pod:
                leader.panic()
                return
            self._decide(pod, leader.identity)

    def _decide(self, pod: Object, identity: str) -> None:
        wanted = pod["spec"].get("nodeSelector") or {}
        nodes = list(self._api.all("Node"))
        fits = [n for n in nodes if wanted.items() <= n["metadata"].get("labels", {}).items()]
        fits = [] if _asks_the_impossible(pod) else fits
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition: dict[str, Any] = {"type": "PodScheduled", "lastTransitionTime": now}
        if fits:
            pod["spec"]["nodeName"] = fits[0]["metadata"]["name"]
            condition |= {"status": "True"}
            reason, message = "Scheduled", f"assigned to {pod['spec']['nodeName']}"
        else:
            reason = "Unschedulable"
            message = f"0/{len(nodes)} nodes are available: {len(nodes)} didn't match."
            condition |= {"status": "False", "reason": reason, "message": message}
        pod["status"] = {"phase": "Pending", "conditions": [condition]}
        self._api.replace(pod)
        self._event(pod, identity, reason if fits else "FailedScheduling", message, now)

    def _event(self, pod: Object, identity: str, reason: str, message: str, now: str) -> None:
        metadata = pod["metadata"]
        event: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{metadata['uid'][:8]}"},
            "involvedObject": {"kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]},
            "reason": reason,
            "message": message,
            "reportingComponent": "default-scheduler",
            "reportingInstance": f"default-scheduler-{identity}",
            "lastTimestamp": now,
        }
        event["metadata"]["namespace"] = metadata["namespace"]
        self._api.apply(event)


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
