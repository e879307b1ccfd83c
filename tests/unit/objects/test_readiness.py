"""When an object counts as ready, and what is told where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from kschedpatch.core.objects.readiness import verdict, waits
from kschedpatch.core.objects.troubles import last_warnings, pod_trouble, selector_of
from kschedpatch.model.clusterplan import Object, ref_of


def thing(
    api: str, kind: str, spec: dict[str, Any], status: dict[str, Any], generation: int = 2
) -> Object:
    metadata = {"name": "x", "namespace": "kube-system", "generation": generation}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def holds(kind: str, status: str = "True", **more: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, **more}]}


ROLLED = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
DAEMON = {
    "observedGeneration": 2,
    "desiredNumberScheduled": 3,
    "updatedNumberScheduled": 3,
    "numberAvailable": 3,
}
TWO = {"replicas": 2}
APPS, BATCH = "apps/v1", "batch/v1"
CRDS, APIS = "apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1"
CRD = "CustomResourceDefinition"
LATE = holds("Progressing", "False", reason="ProgressDeadlineExceeded", message="too late")
QUOTA = holds("ReplicaFailure", reason="FailedCreate", message="exceeded quota")


@pytest.mark.parametrize(
    "api, kind, spec, status, told",
    [
        (APPS, "Deployment", TWO, ROLLED, ""),
        (
            APPS,
            "Deployment",
            {},
            {**ROLLED, "updatedReplicas": 0},
            "0 of 1 pods are of the new kind",
        ),
        (APPS, "Deployment", TWO, {}, "its controller has not looked at it yet"),
        (APPS, "Deployment", TWO, {**ROLLED, "observedGeneration": 1}, "its controller has not"),
        (APPS, "Deployment", TWO, {**ROLLED, "replicas": 3}, "old pods are still there"),
        (APPS, "Deployment", TWO, {**ROLLED, "availableReplicas": 1}, "1 of 2 pods are available"),
        (APPS, "Deployment", TWO, {"observedGeneration": 2, **QUOTA}, "exceeded quota"),
        (APPS, "Deployment", {"replicas": 0}, {"observedGeneration": 2}, ""),
        (APPS, "StatefulSet", TWO, {**ROLLED, "readyReplicas": 1}, "1 of 2 pods are ready"),
        (APPS, "StatefulSet", TWO, {**ROLLED, "readyReplicas": 2}, ""),
        (
            APPS,
            "StatefulSet",
            TWO,
            {**ROLLED, "readyReplicas": 2, "updatedReplicas": 1, "updateRevision": "b"},
            "1 of 2 pods are of the new kind",
        ),
        (APPS, "DaemonSet", {}, DAEMON, ""),
        (APPS, "DaemonSet", {}, {**DAEMON, "numberAvailable": 2}, "2 of 3 pods are available"),
        (APPS, "DaemonSet", {}, {**DAEMON, "updatedNumberScheduled": 0}, "0 of 3 pods are of"),
        (BATCH, "Job", {}, holds("Complete"), ""),
        (BATCH, "Job", {}, {"active": 1}, "not complete yet, 1 pods at work"),
        (BATCH, "Job", {"suspend": True}, {}, ""),
        (BATCH, "CronJob", {}, {}, ""),
        ("v1", "Pod", {}, holds("Ready"), ""),
        ("v1", "Pod", {}, {"phase": "Pending"}, "not ready yet"),
        ("v1", "ConfigMap", {}, {}, ""),
        ("v1", "PersistentVolumeClaim", {}, {"phase": "Pending"}, ""),
        ("example.com/v1", "Deployment", {}, {}, ""),
        (CRDS, CRD, {}, holds("Established"), ""),
        (CRDS, CRD, {}, {}, "not established yet"),
        (APIS, "APIService", {}, holds("Available"), ""),
        (APIS, "APIService", {}, holds("Available", "False", reason="MissingEndpoints"), "Missing"),
        ("v1", "Service", {"selector": {"a": "b"}, "type": "ExternalName"}, {}, ""),
        ("v1", "Service", {}, {}, ""),
    ],
)
def test_ready_or_what_is_missing(
    api: str, kind: str, spec: dict[str, Any], status: dict[str, Any], told: str
) -> None:
    said = verdict(thing(api, kind, spec, status))
    assert (said.ready, said.failed) == (not told, False)
    assert told in said.told


@pytest.mark.parametrize(
    "api, kind, spec, status",
    [
        (APPS, "Deployment", TWO, {"observedGeneration": 2, **LATE}),
        (APPS, "Deployment", {"paused": True}, ROLLED),
        (BATCH, "Job", {}, holds("Failed", reason="BackoffLimitExceeded")),
        ("v1", "Pod", {}, {"phase": "Failed"}),
        ("v1", "Namespace", {}, {"phase": "Terminating"}),
        (CRDS, CRD, {}, holds("NamesAccepted", "False", reason="ListKindConflict")),
    ],
)
def test_what_waiting_does_not_help_ends_it(
    api: str, kind: str, spec: dict[str, Any], status: dict[str, Any]
) -> None:
    said = verdict(thing(api, kind, spec, status))
    assert (said.ready, said.failed) == (False, True)
    assert said.told


@pytest.mark.parametrize(
    "name, space, conditions, ready",
    [
        ("x", "kube-system", {"ready": True}, True),
        ("x", "kube-system", {}, True),
        ("x", "kube-system", {"ready": False}, False),
        ("x", "other", {"ready": True}, False),
        ("y", "kube-system", {"ready": True}, False),
    ],
)
def test_a_service_needs_a_ready_endpoint_of_its_own(
    name: str, space: str, conditions: dict[str, Any], ready: bool
) -> None:
    labels = {"kubernetes.io/service-name": name}
    slices = [
        {
            "metadata": {"namespace": space, "labels": labels},
            "endpoints": [{"conditions": conditions}],
        }
    ]
    service = thing("v1", "Service", {"selector": {"app": "x"}}, {})
    assert waits(ref_of(service))
    assert verdict(service, slices).ready is ready
    assert not verdict(service, []).ready
    assert not verdict(service).ready


def pod(status: dict[str, Any], **spec: str) -> Object:
    return {"metadata": {"name": "p"}, "spec": spec, "status": status}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"containerStatuses": [{"name": "main", "state": state}]}


@pytest.mark.parametrize(
    "body, told",
    [
        (pod(holds("Ready"), nodeName="n"), ""),
        (pod(waiting("ImagePullBackOff", "no such image"), nodeName="n"), "no such image"),
        (pod(waiting("ContainerCreating"), nodeName="n"), "being created"),
        (
            pod({}, schedulerName="mine"),
            "no scheduler has looked at it yet (its schedulerName is mine",
        ),
        (
            pod(holds("PodScheduled", "False", reason="Unschedulable", message="0/3 nodes")),
            "not scheduled: 0/3 nodes",
        ),
        (
            pod(
                {
                    "containerStatuses": [
                        {
                            "name": "main",
                            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                            "lastState": {"terminated": {"exitCode": 2}},
                        }
                    ]
                },
                nodeName="n",
            ),
            "main: CrashLoopBackOff (its last exit code was 2)",
        ),
        (pod({}, nodeName="n"), "it runs, and is not ready"),
    ],
)
def test_why_a_pod_is_not_ready(body: Object, told: str) -> None:
    assert told in pod_trouble(body)
    assert bool(told) is bool(pod_trouble(body))


def test_the_pods_of_a_workload_are_asked_for_by_its_selector() -> None:
    chosen = {
        "matchLabels": {"app": "x"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["a", "b"]},
            {"key": "old", "operator": "DoesNotExist"},
        ],
    }
    assert selector_of({"kind": "Deployment", "spec": {"selector": chosen}}) == (
        "app=x,tier in (a,b),!old"
    )
    assert selector_of({"kind": "Service", "spec": {"selector": {"app": "x"}}}) == "app=x"
    assert selector_of({"kind": "ConfigMap"}) == ""


def test_only_warnings_of_these_objects_are_told_each_reason_once() -> None:
    def event(name: str, reason: str, message: str, when: str, kind: str = "Warning") -> Object:
        about = {"name": name}
        body = {"involvedObject": about, "reason": reason, "message": message}
        return {**body, "type": kind, "lastTimestamp": when}

    events = [
        event("p", "BackOff", "second\n time", "2"),
        event("p", "BackOff", "first time", "1"),
        event("q", "Failed", "of another", "3"),
        event("p", "Pulled", "fine", "4", "Normal"),
    ]
    assert last_warnings(events, ["p"]) == ["BackOff: second time"]
