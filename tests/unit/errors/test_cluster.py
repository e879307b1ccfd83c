"""What the API server and kubectl may do to a run: each is told in words, in a moment."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.cluster import deployments, deploymentwatch, kubeadmconfig, probe, waiting
from kschedpatch.cluster import ownkubectl as own
from kschedpatch.cluster.deploymentwatch import Limits, RolloutFailed, Watch
from kschedpatch.cluster.kubectl import ApiRefused, Kubectl
from kschedpatch.core.deployment.records import OPEN, Record
from kschedpatch.core.fleet.verifying.rights import Right
from kschedpatch.core.kubeadm.clusterconfig import UnreadableConfiguration, exchanged
from kschedpatch.core.kubeadm.planning import Rendered, plan_persist
from kschedpatch.model.clusterplan import Ledger, Object, Ref
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.persistplan import Kept
from kschedpatch.model.rollout import FailureReason
from kschedpatch.node.agent import Answer
from kschedpatch.rollout import deploymentproof
from kschedpatch.rollout.deploymentstate import DeploymentState
from tests.unit.deployments.values import changed, live

TARGET = DeploymentTarget("kube-system", "gpu")
NOW = "2026-01-01T00:00:30Z"
RECORD = Record("r1", "apply", "mine", "", "ops", "", OPEN, Ledger("r1", "mine"), when=NOW)


class Api:
    """A kubectl that answers by its verb; a list of answers is used up until its last."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def api(self, words: Sequence[str], stdin: bytes | None = None, timeout: int = 10) -> Answer:
        verb = next(word for word in words if word in self.answers)
        given = self.answers[verb]
        if isinstance(given, list):
            given = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(given, str):
            return Answer(1, b"", given)
        return Answer(0, given if isinstance(given, bytes) else json.dumps(given).encode(), "")

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl(self)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deploymentwatch, "_LOOK", 0.01)
    monkeypatch.setattr(deploymentwatch, "_LEASE", 0.02)
    monkeypatch.setattr(waiting, "_LOOK", 0.01)
    monkeypatch.setattr(probe, "_SECONDS", 0.0)
    monkeypatch.setattr(deploymentproof, "_SECONDS", -1.0)


def nothing(*_: object) -> None: ...


def test_kubectl_that_says_nothing_sensible() -> None:
    with pytest.raises(ApiRefused, match="kubectl's answer is no JSON"):
        Api(get=b"<html>").kubectl.listed("pods")


def test_no_kubectl_or_one_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "PROGRAM", str(tmp_path / "kubectl"))
    with pytest.raises(ApiRefused, match="there is no kubectl on this machine"):
        own.OwnKubectl(tmp_path / "config").api(["get", "pods"])
    (tmp_path / "kubectl").write_text("#!/bin/sh\nexec sleep 20\n")
    (tmp_path / "kubectl").chmod(0o755)
    monkeypatch.setattr(own, "_MARGIN", 0.1)
    with pytest.raises(ApiRefused, match=r"kubectl took longer than 0\.1 s"):
        own.OwnKubectl(tmp_path / "config").api(["get", "pods"], timeout=0)


def held(renewed: str) -> Object:
    spec = {"holderIdentity": "ann", "leaseDurationSeconds": 60, "renewTime": renewed}
    return {"metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    "there, words",
    [
        (b"", "somebody else has just ended a run on it; try again"),
        (held("2026-01-01T00:00:00Z"), "ann is at it, since 30 s"),
    ],
)
def test_somebody_else_is_at_the_deployment(there: Any, words: str) -> None:
    with pytest.raises(deployments.Locked, match=words):
        deployments.lock(Api(create="already exists", get=there).kubectl, TARGET, RECORD, 60)


def test_a_run_that_is_too_large_to_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kschedpatch.core.deployment.records.MAX_BYTES", 10)
    with pytest.raises(ApiRefused, match="too large for a Secret"):
        deployments.begin_record(Api().kubectl, TARGET, RECORD)


def condition(reason: str) -> Object:
    scheduled = {"type": "PodScheduled", "status": "False", "reason": reason, "message": "boom"}
    return {"status": {"conditions": [scheduled]}}


@pytest.mark.parametrize(
    "pod, words",
    [
        (condition("SchedulerError"), "the scheduler failed on a pod: boom"),
        ({}, "packing did not look at a pod within"),
    ],
)
def test_a_scheduler_that_does_not_do_its_work(pod: Object, words: str) -> None:
    api = Api(create={}, get=pod, delete={})
    with pytest.raises(probe.ProbeFailed, match=words):
        probe.probe(api.kubectl, "r1", "packing", nothing)


def watch(*answers: Any) -> Watch:
    return Watch(Api(get=list(answers), logs=b"").kubectl, TARGET, nothing, nothing)


LIMITS = Limits(ready=0.0, image=0.0, settle=0.0)


def not_there(api: Watch) -> object:
    return api.until_ready(LIMITS)


def no_lease(api: Watch) -> object:
    return api.until_leading("kube-system/gpu", alone=True)


@pytest.mark.parametrize(
    "answers, wait, reason, words",
    [
        (["refused"], not_there, FailureReason.LOST, "the API server does not answer"),
        ([b""], not_there, FailureReason.FOREIGN, "Deployment kube-system/gpu is gone"),
        (["refused"], no_lease, FailureReason.NOT_READY, "took the lease kube-system/gpu within"),
        ([live()], no_lease, FailureReason.NOT_READY, "none of the new pods took the lease"),
    ],
)
def test_a_deployment_that_does_not_come(
    answers: list[Any], wait: Callable[[Watch], object], reason: FailureReason, words: str
) -> None:
    with pytest.raises(RolloutFailed, match=words) as raised:
        wait(watch(*answers))
    assert raised.value.reason is reason


def test_a_deployment_that_somebody_else_has_changed() -> None:
    ours = live(replicas=1)
    ours["spec"]["template"]["spec"]["containers"][0]["image"] = "ours:v1"
    state = DeploymentState(Api(get=live()).kubectl, TARGET)
    with pytest.raises(RolloutFailed, match="somebody else has changed the Deployment"):
        state.put_back(live(), ours)


def test_a_right_that_is_missing() -> None:
    right = Right("update", "pods")
    review = {**right.review("x"), "status": {"allowed": False}}
    made = changed({"scheduler": {"args": {"v": "5"}}})
    with pytest.raises(RolloutFailed, match="may not update pods"):
        deploymentproof.check_rights(Api(create=review).kubectl, made, (right,), nothing)


def test_objects_that_nobody_can_ask_for() -> None:
    ref = Ref("apps/v1", "Deployment", "kube-system", "gpu")
    with pytest.raises(waiting.NotReady) as raised:
        waiting.wait(Api(get="connection refused").kubectl, [ref], -1.0, nothing, nothing)
    assert raised.value.lines == ("the API server can't be asked: connection refused",)


@pytest.mark.parametrize(
    "text, words",
    [
        ("a: 1\n---\nb: 2\n", "it is no single YAML document"),
        ("kind: Other\n", "it is no ClusterConfiguration"),
        ("kind: ClusterConfiguration\nscheduler: [1]\n", "its scheduler is no mapping"),
        (
            "kind: ClusterConfiguration\nscheduler: {extraVolumes: [{path: /a}]}\n",
            "an entry of its scheduler has no name",
        ),
    ],
)
def test_what_kubeadm_keeps_is_something_else(text: str, words: str) -> None:
    with pytest.raises(UnreadableConfiguration, match=words):
        exchanged(text, {}, {}, {})


def test_what_kubeadm_keeps_is_gone_or_can_t_be_compared() -> None:
    found = kubeadmconfig.Found(None, "", None)
    with pytest.raises(UnreadableConfiguration, match="it is gone"):
        kubeadmconfig._exchange_once(Api().kubectl, found, Kept("r", "p", {}))
    plan = plan_persist([Rendered("cp1", "a: 1\n", "b: 2\n", "")], "p", CONFIGURATION, None)
    assert [finding.code for finding in plan.findings] == ["N095"]
    assert "the manifest of cp1 can't be compared" in plan.findings[0].message


CONFIGURATION = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"
