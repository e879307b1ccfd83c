"""The published schema of what commands print: every kind is in it, and nothing else passes."""

from __future__ import annotations

import copy
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kschedpatch.core.deployment.standing import DeploymentStatus
from kschedpatch.model import exitcodes
from kschedpatch.model.clusterplan import Action, ObjectResult
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.outcome import Outcome
from kschedpatch.model.rollout import (
    Failure,
    FailureReason,
    NodeOutcome,
    NodeResult,
    RolloutResult,
)
from kschedpatch.report import deployments
from kschedpatch.report.documents import envelope
from kschedpatch.report.outputschema import KINDS, output_schema
from kschedpatch.report.progress import JsonLines
from kschedpatch.report.rollouts import result_data
from tests.printed import check, check_printed
from tests.unit.command_line import run

PACKAGE = Path(__file__).parents[3] / "kschedpatch"
KUBEADM = "fixtures/manifests/kubeadm/v1.34.yaml"


def test_it_is_a_schema_and_a_command_prints_it() -> None:
    Draft202012Validator.check_schema(output_schema())
    assert json.loads(run("schema", "output").out) == output_schema()
    assert json.loads(run("schema").out) == json.loads(run("schema", "patch").out)


def test_every_kind_of_document_is_in_it() -> None:
    source = "".join(path.read_text("utf-8") for path in (PACKAGE / "cli").glob("*.py"))
    made = set(re.findall(r'"([A-Z][A-Za-z]+(?:Result|Plan|List))"', source))
    assert made == {*KINDS}


def failed(reason: FailureReason, phase: Phase, outcome: NodeOutcome) -> dict[str, Any]:
    failure = Failure("cp1", phase, reason, "why", ("a",), ("b",), ("c",))
    nodes = (NodeResult("cp1", "cp1", outcome, 1.5, None, "x"),)
    objects = tuple(ObjectResult("Service a/b", action) for action in Action)
    result = RolloutResult("r", "apply", exitcodes.ROLLED_BACK, nodes, failure, ("o",), (), objects)
    return envelope(Outcome("ApplyResult", (), True, result_data(result), result.exit_code))


@pytest.mark.parametrize("reason", FailureReason)
def test_results_of_every_failure(reason: FailureReason) -> None:
    for phase, outcome in zip(Phase, [*NodeOutcome] * 3, strict=False):
        check(failed(reason, phase, outcome))


def test_a_deployment_and_what_became_of_it() -> None:
    target = DeploymentTarget("kube-system", "second")
    status = deployments.status_data(DeploymentStatus(target, there=False))
    check(envelope(Outcome("StatusResult", data=status)))
    check(envelope(Outcome("HistoryResult", data=deployments.history_data(target, ()))))


def test_events() -> None:
    stream = io.StringIO()
    show = JsonLines(stream)
    for phase in Phase:
        for state in State:
            show(Event(phase, state, "cp1", "text", 0.25 if state is State.PROGRESS else None))
    lines = stream.getvalue().splitlines()
    assert len(lines) == len(Phase) * len(State)
    check_printed(("--progress", "json"), "", stream.getvalue())


@pytest.fixture(scope="module")
def rendered() -> dict[str, Any]:
    ran = run("render", "--recipe", "gpumps", "--manifest", KUBEADM, "-o", "json")
    document: dict[str, Any] = json.loads(ran.out)
    return document


BREAKS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a field too many": lambda d: d.update(extra=1),
    "a field too few": lambda d: d.pop("manifest"),
    "no findings": lambda d: d.pop("findings"),
    "another kind": lambda d: d.update(kind="RenderedResult"),
    "another kind's fields": lambda d: d.update(kind="PlanResult"),
    "an exit code that it has not": lambda d: d.update(exitCode=4),
    "another apiVersion": lambda d: d.update(apiVersion="v1"),
    "a number for a text": lambda d: d.update(patch=1),
    "a mode in decimal": lambda d: d["generation"]["files"][0].update(mode="420"),
    "a short hash": lambda d: d["generation"]["files"][0].update(sha256="abc"),
    "a field too many deep down": lambda d: d["generation"]["files"][0].update(owner="root"),
    "an unknown severity": lambda d: d["findings"].append({"severity": "fatal"}),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_is_broken_is_noticed(name: str, rendered: dict[str, Any]) -> None:
    document = copy.deepcopy(rendered)
    check(document)
    BREAKS[name](document)
    with pytest.raises(AssertionError):
        check(document)
    with pytest.raises(AssertionError):
        check_printed(("-o", "json"), json.dumps(document, indent=2), "")


def test_nothing_that_a_command_prints_passes_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests run commands by this helper: with a field that nobody has told, it fails."""
    from kschedpatch.report import documents

    def with_more(outcome: Outcome) -> dict[str, Any]:
        return {**envelope(outcome), "more": True}

    monkeypatch.setattr(documents, "envelope", with_more)
    for form in ("json", "yaml"):
        with pytest.raises(AssertionError):
            run("recipes", "-o", form)
        with pytest.raises(AssertionError):
            run("recipes", f"--output={form}")
