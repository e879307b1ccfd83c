"""When objects of the cluster count as ready, one look after the other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from kschedpatch.cluster import waiting
from kschedpatch.cluster.kubectl import Kubectl, as_list
from kschedpatch.model.clusterplan import Object, ref_of
from kschedpatch.node.agent import Answer

ABOUT = {"name": "extender", "namespace": "kube-system"}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": ABOUT,
    "spec": {"selector": {"app": "extender"}},
}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": ABOUT, "spec": {}}
DONE = {"conditions": [{"type": "Complete", "status": "True"}]}


def deployment(available: int) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": ABOUT,
        "spec": {"replicas": 1},
        "status": {"replicas": 1, "updatedReplicas": 1, "availableReplicas": available},
    }


def endpoints(*, ready: bool) -> Object:
    labels = {"kubernetes.io/service-name": "extender"}
    return {
        "metadata": {**ABOUT, "labels": labels},
        "endpoints": [{"conditions": {"ready": ready}}],
    }


class Looks:
    """What is seen at one look after the other; the last one lasts."""

    def __init__(self, *looks: tuple[Object, ...]) -> None:
        self.looks = looks
        self.number = -1

    def api(self, words: Sequence[str], _stdin: bytes | None = None, _timeout: int = 10) -> Answer:
        if words[:3] == ["get", "-f", "-"]:
            self.number += 1
        seen: Sequence[Any] = self.looks[min(self.number, len(self.looks) - 1)]
        sliced = any(word.startswith("endpointslices") for word in words)
        items = [item for item in seen if sliced == ("endpoints" in item)]
        return Answer(0, json.dumps(as_list(items)).encode(), "")


def wait(looks: Looks, *objects: Object, seconds: float = 0.2) -> None:
    refs = [ref_of(item) for item in objects]
    waiting.wait(Kubectl(looks), refs, seconds, lambda _: None, lambda: None)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_LOOK", 0.001)


def test_a_service_with_its_predecessor_s_endpoints_is_waited_for() -> None:
    """The endpoints of a Service that was there a moment ago are taken away some time later."""
    looks = Looks(
        (deployment(0), SERVICE, endpoints(ready=True)),
        (deployment(1), SERVICE, endpoints(ready=False)),
        (deployment(1), SERVICE, endpoints(ready=True)),
    )
    wait(looks, deployment(0), SERVICE, seconds=20)
    assert looks.number == 2


def test_a_service_that_lost_its_endpoints_is_among_the_reasons() -> None:
    looks = Looks(
        (deployment(0), SERVICE, endpoints(ready=True)),
        (deployment(0), SERVICE, endpoints(ready=False)),
    )
    with pytest.raises(waiting.NotReady) as raised:
        wait(looks, deployment(0), SERVICE)
    told = "\n".join(raised.value.lines)
    assert "Deployment kube-system/extender is not ready after 0 s: 0 of 1 pods" in told
    assert "Service kube-system/extender is not ready after 0 s: no ready pod" in told


def test_a_job_that_is_done_may_go_while_others_are_waited_for() -> None:
    looks = Looks(({**JOB, "status": DONE}, deployment(0)), (deployment(0),), (deployment(1),))
    wait(looks, JOB, deployment(0), seconds=20)
    assert looks.number == 2
