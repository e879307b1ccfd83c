"""Findings about nodes and clusters that no roll-out on simulated nodes runs into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kschedpatch.cli import fleets
from kschedpatch.core.deployment.served import Serving, served_findings
from kschedpatch.core.deployment.standing import kept_checks, lease_checks, standing_checks
from kschedpatch.core.fleet.objects import joined
from kschedpatch.core.kubeadm.planning import Rendered, plan_persist
from kschedpatch.core.objects import ledger
from kschedpatch.core.objects.readiness import Verdict
from kschedpatch.model import exitcodes
from kschedpatch.model.checks import Check
from kschedpatch.model.clusterplan import ClusterPlan
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.plan import ClusterObject
from kschedpatch.node.agent import Kept
from kschedpatch.rollout import clusterlook, persistlook, verification
from kschedpatch.rollout.fleet import Fleet
from tests.unit.command_line import run
from tests.unit.deployments.values import live
from tests.unit.errors.test_cluster import CONFIGURATION, RECORD
from tests.unit.fleet.nodes import kubeadm_manifest, three
from tests.unit.fleet.test_planning import planned

TARGET = DeploymentTarget("kube-system", "gpu")


def codes(checks: Iterable[Check]) -> list[str]:
    return [finding.code for check in checks for finding in check.findings]


def test_objects_that_differ_from_node_to_node() -> None:
    one, other = (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": value}}
        for value in ("1", "2")
    )
    found = joined([(ClusterObject(one, "f"),), (ClusterObject(other, "f"),)])
    assert [finding.code for finding in found.findings] == ["N025"]


def test_a_scheduler_whose_configuration_nobody_sees() -> None:
    other = Serving("Pod kube-system/kube-scheduler-cp1", ("default-scheduler",), "", known=False)
    (finding,) = served_findings("Deployment a/b", ["packing"], "", [other])
    assert (finding.code, "control-plane nodes" in finding.hint) == ("N084", True)


def test_a_deployment_that_is_not_as_it_should_be() -> None:
    not_ready = Verdict(False, "1 of 2 pods are ready")
    assert codes(standing_checks(TARGET, None, None, ())) == ["N087"]
    assert codes(standing_checks(TARGET, live(), not_ready, ())) == ["N151"]
    assert codes(kept_checks(TARGET, live(), RECORD._replace(after=live(template={})))) == ["N152"]
    assert codes(lease_checks("kube-system/gpu", "other_1", ())) == ["N153"]


def test_nodes_that_kubeadm_can_t_serve_at_once() -> None:
    text = kubeadm_manifest(34).decode()
    flag = "    - --leader-elect=true\n"
    nodes = [
        Rendered(label, text, text.replace(flag, f"{flag}    - --v={level}\n"), "")
        for label, level in (("cp1", 4), ("cp2", 5))
    ]
    plan = plan_persist(nodes, "mine", CONFIGURATION, None)
    assert [finding.code for finding in plan.findings] == ["N096"]


def test_a_kept_patch_of_another_version() -> None:
    facts = [node.facts for node in three()[:1]]
    kept = {facts[0].label: Kept(None, None, b"apiVersion: kschedpatch.io/v9\n")}
    _, findings = verification._expected(facts, verification.Wish(), kept)
    assert [finding.code for finding in findings] == ["N147"]


def test_more_than_a_node_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MAX_BYTES", 1)
    plan = clusterlook._bounded(ClusterPlan())
    assert [finding.code for finding in plan.findings] == ["N070"]


def test_a_rollback_that_kubeadm_does_not_hear_of() -> None:
    node = three()[0].but(kubeadm_patch=b"x", api_answers=False)
    fleet = cast("Fleet", SimpleNamespace(facts=(node.facts,)))
    plan = persistlook.look_for_rollback(fleet, ())
    assert [finding.code for finding in plan.findings] == ["N097"]
    assert "rollback" in plan.findings[0].hint


# Commands that look at nodes, and find something else there than they need.


def looking_at(facts: Iterable[NodeFacts], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tuple(facts)

    @contextmanager
    def connected(*_: object) -> Iterator[Any]:
        yield SimpleNamespace(failures={}, facts=seen)

    monkeypatch.setattr(fleets, "connected", connected)
    monkeypatch.setattr(fleets, "look", lambda *_, **__: seen)


@pytest.mark.parametrize(
    "joins, words", [(False, "has no scheduler yet"), (True, "has one: it is")]
)
def test_staging_for_nodes_of_one_kind_only(
    joins: bool, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [node.without_manifest() if joins else node for node in three()]
    looking_at((node.facts for node in nodes), monkeypatch)
    ran = run("apply", "--arg", "v=5", "--stage-only", "-q", "127.0.0.1:1")
    assert ran.code == exitcodes.INVALID
    assert f"None of these {words}" in ran.err
    assert ran.err.endswith("Nothing was changed.\n")


def test_export_by_a_node_without_a_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nodes = three()
    looking_at((node.facts for node in nodes), monkeypatch)
    facts = tuple(node.but(kubelet=None).facts for node in nodes)
    plan = planned({"scheduler": {"args": {"v": "5"}}}, *nodes)
    labels = [node.facts.label for node in nodes]
    made = SimpleNamespace(plan=plan, labels=labels, facts=facts)
    monkeypatch.setattr("kschedpatch.cli.planned.planned", lambda *_, **__: made)
    ran = run("export", "--arg", "v=5", "--out", str(tmp_path / "o"), "-q", "127.0.0.1:1")
    assert ran.code == exitcodes.INVALID
    assert "does not tell its kubelet's version. Nothing was written." in ran.err
    assert not (tmp_path / "o").exists()
