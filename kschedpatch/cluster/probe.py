"""A pod that fits nowhere: the leader must look at it and say so. Nothing runs anywhere.

A standby schedules nothing, so a plugin that breaks on its first pod passes every earlier proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from kschedpatch.cluster.kubectl import ApiRefused, Kubectl
from kschedpatch.model.clusterplan import Object
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError

_NAMESPACE = "kube-system"
_SECONDS = 30.0


class ProbeFailed(Exception):
    """The scheduler did not look at the pod."""


class Probed(NamedTuple):
    answered: bool
    """False: it could not be asked, for there is no API server."""
    detail: str


def probe(kubectl: Kubectl, run: str, scheduler: str, still_stand: Callable[[], None]) -> Probed:
    """``still_stand`` looks at the schedulers and raises where one has ended: what breaks on its
    first pod says nothing of it to the API server."""
    body = _pod(run, scheduler)
    name = body["metadata"]["name"]
    try:
        kubectl.create(body)
    except (ApiRefused, NodeError, VerbFailed) as error:
        if "already exists" not in str(error):
            return Probed(False, str(error).splitlines()[0][:200])
    try:
        probed = _verdict(kubectl, name, scheduler, still_stand)
        still_stand()
        return probed
    finally:
        with suppress(ApiRefused, NodeError, VerbFailed):
            kubectl.delete(body)


def _verdict(
    kubectl: Kubectl, name: str, scheduler: str, still_stand: Callable[[], None]
) -> Probed:
    began = time.monotonic()
    while True:
        try:
            pod = kubectl.get("pod", name, _NAMESPACE) or {}
        except (ApiRefused, NodeError, VerbFailed, ValueError):
            pod = {}
        for condition in (pod.get("status") or {}).get("conditions") or ():
            if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
                if condition.get("reason") == "Unschedulable":
                    return Probed(True, "the new leader judged a pod")
                if condition.get("reason") == "SchedulerError":
                    raise ProbeFailed(f"the scheduler failed on a pod: {condition.get('message')}")
        waited = time.monotonic() - began
        if waited > _SECONDS:
            raise ProbeFailed(f"{scheduler} did not look at a pod within {_SECONDS:.0f} s")
        if waited > 1:
            still_stand()
        time.sleep(0.5)


def _pod(run: str, scheduler: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"kschedpatch-probe-{run}",
            "namespace": _NAMESPACE,
            "labels": {"app.kubernetes.io/managed-by": "kschedpatch"},
        },
        "spec": {
            "schedulerName": scheduler,
            "nodeSelector": {"kschedpatch.io/nowhere": run},
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "nothing", "image": "kschedpatch.invalid/nothing:none"}],
        },
    }
