"""What ends a roll-out before anything is switched: a wrong image, a node that went on alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kschedpatch.cluster.kubectl import Kubectl
from kschedpatch.cluster.waiting import NotReady
from kschedpatch.model import exitcodes
from kschedpatch.model.clusterplan import Ledger
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.images import ArchiveVariant, ImageArchive
from kschedpatch.model.rollout import FailureReason, NodeOutcome, RolloutSettings
from kschedpatch.model.sources import SourceFile
from kschedpatch.node import images
from kschedpatch.rollout.bringing import NotBrought, Telling, bring_image
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.deployment import DeploymentRun
from kschedpatch.rollout.deploymentlook import DeploymentLook
from kschedpatch.rollout.deploymentrecord import RunRecord
from kschedpatch.rollout.deploymentstate import DeploymentState
from kschedpatch.rollout.failures import StepFailed
from kschedpatch.rollout.fleet import Member
from kschedpatch.rollout.objects import ObjectsPart, Reach
from kschedpatch.rollout.run import Run

TELLING = Telling(lambda _: None, lambda *_: None)
TARGET = DeploymentTarget("kube-system", "gpu")
MEMBER = cast("Member", SimpleNamespace(agent=None))


def answers(value: Any) -> Any:
    return lambda *_, **__: value


def test_an_image_with_another_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    pulled = SimpleNamespace(how="pulled", digests=("sha256:bb",))
    monkeypatch.setattr(images, "pull", answers(pulled))
    image = "registry.example.com/own@sha256:" + "a" * 64
    with pytest.raises(NotBrought, match="has another digest: sha256:bb"):
        bring_image(MEMBER, "r", image, None, 1.0, Cancel(), TELLING)


def test_an_archive_that_became_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    variant = ArchiveVariant("amd64", "sha256:aa", (), 1, 1)
    archive = ImageArchive(SourceFile("own.tar", "own.tar", "0" * 64, 1), "own:v1", "", (variant,))
    monkeypatch.setattr(images, "offer", answers(SimpleNamespace(image_id="", have=1)))
    monkeypatch.setattr(images, "import_archive", answers("sha256:bb"))
    with pytest.raises(NotBrought, match="after the import own:v1 is sha256:bb on the node, and"):
        bring_image(MEMBER, "r", "own:v1", archive, 1.0, Cancel(), TELLING)


def test_a_node_that_has_ended_the_run() -> None:
    lost = SimpleNamespace(lost=lambda: {"cp1": "no longer open"})
    run = cast("Run", SimpleNamespace(cancel=Cancel(), heartbeat=lost))
    with pytest.raises(StepFailed, match="ended the run by itself: no longer") as raised:
        Run._do(run, lambda: None)
    assert raised.value.failure.node == "cp1"
    assert raised.value.failure.reason is FailureReason.TOO_LATE


# A Deployment's run, with as much of it as these steps look at.


def deployment_run(cancel: Cancel | None = None) -> DeploymentRun:
    run = DeploymentRun.__new__(DeploymentRun)
    run.kind, run.notes, run.outcome = "apply", [], NodeOutcome.UNCHANGED
    run.target, run.cancel, run.failure = TARGET, cancel or Cancel(), None
    run.reach = cast("Reach", SimpleNamespace(listener=lambda _: None))
    run.objects = cast("ObjectsPart", SimpleNamespace(undo=answers(None), abandoned=answers(None)))
    run.objects.ledger = Ledger("r", "p")
    run.record = cast("RunRecord", SimpleNamespace(end=answers("")))
    run._switched = False
    return run


def test_a_deployment_s_run_that_is_stopped() -> None:
    cancel = Cancel()
    cancel.ask()
    run = deployment_run(cancel)
    assert run._forward() == exitcodes.INTERRUPTED
    assert run.failure is not None
    assert run.failure.detail == "stopped on request"
    again = deployment_run()
    assert again._abandoned() == exitcodes.INTERRUPTED
    assert again.failure is not None
    assert again.failure.detail == "stopped on request, twice"


def test_a_deployment_that_was_changed_since() -> None:
    run = deployment_run()
    run.look = cast("DeploymentLook", SimpleNamespace(live={"metadata": {"generation": 1}}))
    nothing = SimpleNamespace(get_all=answers(SimpleNamespace(items=())))
    run.state = DeploymentState(cast("Kubectl", nothing), run.target)
    with pytest.raises(StepFailed, match="was changed since it was planned") as raised:
        run._switch()
    assert raised.value.failure.reason is FailureReason.FOREIGN
    assert not run._switched


def test_objects_that_do_not_become_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise NotReady(["Deployment a/b is not ready: 0 of 1 pods"])

    monkeypatch.setattr("kschedpatch.rollout.objects.wait", never)
    part = ObjectsPart.__new__(ObjectsPart)
    part.settings, part.cancel = RolloutSettings(objects_timeout=7), Cancel()
    part.fleet = cast("Reach", SimpleNamespace(listener=lambda _: None, kubectl=answers(None)))
    with pytest.raises(StepFailed, match=r"waited for 7 s \(--objects-timeout\)") as raised:
        part._wait_for([], lambda _: None)
    assert raised.value.failure.lines == ("Deployment a/b is not ready: 0 of 1 pods",)
