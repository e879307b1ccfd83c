"""Probe pods are deleted whatever happens: an API server in a few lines, and what goes wrong."""

from __future__ import annotations

from typing import Any

import pytest

from kschedpatch.cluster.kubectl import ApiRefused
from kschedpatch.cluster.probepods import probe_pods
from kschedpatch.model.probing import ProbeAsked, ProbeReport
from kschedpatch.node.errors import ConnectionLost

POD = {"metadata": {"name": "p"}, "spec": {"containers": []}}
ASKED = (ProbeAsked("p", POD, expect_annotations=("Stamp",)),)


class Pods:
    """What all ways to the API server share."""

    def __init__(self) -> None:
        self.pods: dict[str, dict[str, Any]] = {}
        self.refuses = ""


class Way:
    """kubectl on one node; ``cut`` names the call with which its connection is lost."""

    def __init__(self, server: Pods, cut: str = "") -> None:
        self._server, self._cut, self._lost = server, cut, False

    def _comes(self, call: str) -> None:
        self._lost = self._lost or call == self._cut
        if self._lost:
            raise ConnectionLost("cp1: the connection was lost")

    def columns(self, _kind: str, *_paths: str) -> list[list[str]]:
        self._comes("columns")
        return [["n1", "", '[{"key": "k", "effect": "NoSchedule"}]', '{"a": "b"}', ""]]

    def create(self, body: dict[str, Any]) -> None:
        if self._server.refuses:
            raise ApiRefused(self._server.refuses)
        pod = {**body, "spec": {**body["spec"], "nodeName": "n1"}}
        pod["metadata"] = {
            **body["metadata"],
            "creationTimestamp": "2026-11-16T20:00:00Z",
            "annotations": {"Stamp": "1"},
        }
        self._server.pods[body["metadata"]["name"]] = pod
        self._comes("create")  # it may have worked all the same

    def labelled_pods(self, selector: str) -> list[dict[str, Any]]:
        self._comes("list")
        key, _, value = selector.rpartition(",")[2].partition("=")
        return [
            pod
            for pod in self._server.pods.values()
            if value in ("", pod["metadata"]["labels"].get(key))
        ]

    def delete_pods(self, selector: str) -> None:
        self._comes("delete")
        for pod in self.labelled_pods(selector):
            del self._server.pods[pod["metadata"]["name"]]

    def events_of(self, *_words: str) -> list[dict[str, Any]]:
        self._comes("events")
        return [{"reportingComponent": "default-scheduler", "reportingInstance": "x-cp1"}]


def probed(*ways: Way, go_on: Any = lambda: None) -> ProbeReport:
    said: list[str] = []
    return probe_pods(ways, ASKED, said.append, go_on, 2)  # type: ignore[arg-type]


def test_a_pod_is_bound_looked_at_and_gone() -> None:
    server = Pods()
    report = probed(Way(server))
    (look,) = report.looks
    assert (look.node, look.bound_by, look.annotations) == (
        "n1",
        "default-scheduler",
        {"Stamp": "1"},
    )
    assert report.nodes is not None
    assert report.nodes[0].taints == ({"key": "k", "effect": "NoSchedule"},)
    assert (server.pods, report.left) == ({}, "")


@pytest.mark.parametrize("call", ["columns", "create", "list", "events", "delete"])
def test_a_connection_that_is_lost_leaves_no_pod(call: str) -> None:
    server = Pods()
    report = probed(Way(server, call), Way(server))
    assert (server.pods, report.left) == ({}, "")


def test_with_every_way_lost_the_command_is_told() -> None:
    server = Pods()
    report = probed(Way(server, "delete"))
    assert len(server.pods) == 1
    (pod,) = server.pods.values()
    run = pod["metadata"]["labels"]["kschedpatch.io/probe"]
    assert report.left == f"kubectl delete pods -A -l kschedpatch.io/probe={run}"


def test_a_request_to_stop_deletes_them_first() -> None:
    server = Pods()

    class Stopped(Exception):
        pass

    def go_on() -> None:
        if server.pods:
            raise Stopped

    with pytest.raises(Stopped):
        probed(Way(server), go_on=go_on)
    assert server.pods == {}


def test_a_pod_that_the_api_server_refuses() -> None:
    server = Pods()
    server.refuses = "pods is forbidden: exceeded quota\nmore"
    (look,) = probed(Way(server)).looks
    assert look.problem == "pods is forbidden: exceeded quota"


def test_pods_of_others_that_probe_just_now_are_left_alone() -> None:
    server = Pods()
    for name, born in (("old", "2026-11-16T19:00:00Z"), ("new", "2026-11-16T19:59:00Z")):
        labels = {"kschedpatch.io/probe": name}
        server.pods[name] = {
            "metadata": {"name": name, "labels": labels, "creationTimestamp": born},
            "spec": {},
        }
    assert probed(Way(server)).removed == 1
    assert list(server.pods) == ["new"]
