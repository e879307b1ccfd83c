"""What the API server is asked for: room on a node, and a lease whose holder has died."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kschedpatch.cluster import lease, room
from kschedpatch.cluster.kubectl import ApiRefused, Kubectl


class Answers:
    """A kubectl that knows one node with its pods, and one lease."""

    def __init__(self, *, allocatable: dict[str, str] | None = None) -> None:
        self.allocatable = {"cpu": "4", "memory": "8Gi"} if allocatable is None else allocatable
        self.pods: list[dict[str, Any]] = []
        self.leases: list[dict[str, Any]] = []
        """As they are read one after the other; the last one stays."""
        self.replaced: list[dict[str, Any]] = []

    def get(self, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        if kind == "node":
            return {"status": {"allocatable": self.allocatable}}
        assert (kind, name, namespace) == ("lease", "mine", "other")
        return self.leases.pop(0) if len(self.leases) > 1 else self.leases[0]

    def pods_of(self, node: str) -> list[dict[str, Any]]:
        return self.pods

    def replace(self, body: dict[str, Any]) -> None:
        if body["metadata"]["resourceVersion"] != self.leases[-1]["metadata"]["resourceVersion"]:
            raise ApiRefused("the object has been modified")
        self.replaced.append(body)

    @property
    def kubectl(self) -> Kubectl:
        return cast("Kubectl", self)


def pod(phase: str = "Running", *, before: str = "0", **requests: str) -> dict[str, Any]:
    return {
        "spec": {
            "containers": [{"resources": {"requests": requests}}, {}],
            "initContainers": [{"resources": {"requests": {"cpu": before}}}],
        },
        "status": {"phase": phase},
    }


def test_room_is_what_the_other_pods_leave() -> None:
    answers = Answers()
    answers.pods = [pod(cpu="2500m"), pod(before="1"), pod("Succeeded", cpu="4")]
    room.check(answers.kubectl, "cp1", [("cpu", "0.5")])
    with pytest.raises(room.NoRoom, match=r"0\.6 cpu more.*0\.500 cpu is free on cp1"):
        room.check(answers.kubectl, "cp1", [("cpu", "0.6")])
    with pytest.raises(room.NoRoom, match=r"9216 MiB of memory more.*8192 MiB of memory is free"):
        room.check(answers.kubectl, "cp1", [("memory", str(9 * 2**30))])


def test_a_node_of_which_nothing_is_known_is_not_called_full() -> None:
    with pytest.raises(ValueError, match="says nothing of what cp1 has"):
        room.check(Answers(allocatable={}).kubectl, "cp1", [("cpu", "1")])
    room.check(Answers(allocatable={}).kubectl, "cp1", [])


def held(by: str, renewed: str, version: str = "1") -> dict[str, Any]:
    spec = {"holderIdentity": by, "renewTime": renewed, "leaseDurationSeconds": 0.4}
    return {"metadata": {"resourceVersion": version}, "spec": spec}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_LOOK", 0.05)


def test_a_silent_holder_of_this_host_loses_the_lease() -> None:
    answers = Answers()
    answers.leases = [held("cp1_a", "1")]
    assert lease.leader(answers.kubectl, "other/mine") == "cp1"
    assert lease.empty_if_dead(answers.kubectl, "other/mine", "cp1")
    [written] = answers.replaced
    assert written["spec"]["holderIdentity"] == ""
    assert written["metadata"]["resourceVersion"] == "1", "the guard"


@pytest.mark.parametrize(
    "seen",
    [
        [held("cp1_a", "1"), held("cp1_a", "2", "2")],
        [held("cp2_a", "1")],
        [held("", "1")],
        [held("cp1_a", "1"), held("cp1_a", "1", "2")],
    ],
    ids=["renews", "elsewhere", "nobody", "taken at the last moment"],
)
def test_everybody_else_keeps_it(seen: list[dict[str, Any]]) -> None:
    answers = Answers()
    answers.leases = seen
    assert not lease.empty_if_dead(answers.kubectl, "other/mine", "cp1")
    assert answers.replaced == []


def test_without_a_lease_nobody_is_asked() -> None:
    answers = Answers()
    assert lease.leader(answers.kubectl, "") == ""
    assert not lease.empty_if_dead(answers.kubectl, "", "cp1")
