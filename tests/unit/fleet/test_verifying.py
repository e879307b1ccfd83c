"""verify and status: what is told about nodes that are not as they were left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedpatch.core.fleet.standing import Drift, drift_of, statuses
from kschedpatch.core.fleet.verifying.expectations import expected_of
from kschedpatch.core.fleet.verifying.fleet import Evidence, verify_fleet
from kschedpatch.model.checks import CheckState
from kschedpatch.model.facts import LivePod
from kschedpatch.model.finding import Finding, has_errors
from kschedpatch.model.fleetplan import FleetPlan
from tests.unit.fleet.nodes import Node, kubeadm_manifest, node, three
from tests.unit.fleet.test_planning import VERBOSE, planned

RUN = "20261116-204512-3fa9"
PATH = "/etc/kubernetes/manifests/kube-scheduler.yaml"


def patched(label: str = "cp1") -> Node:
    return node(label).after(planned(VERBOSE, node(label)), RUN)


def content(item: Node) -> bytes:
    assert item.facts.manifest is not None
    return item.facts.manifest.content


def edited(item: Node) -> Node:
    return item.with_manifest(content(item).replace(b"--v=5", b"--v=6"))


def verified(*nodes: Node) -> tuple[Finding, ...]:
    evidence = Evidence(kept={"cp1": content(patched())})
    verdict = verify_fleet([item.facts for item in nodes], evidence)
    # What is found is seen in the checklist too, and the other way round.
    states = {check.state for check in verdict.checks}
    assert (CheckState.FAILED in states) == has_errors(verdict.findings)
    return verdict.findings


def against(plan: FleetPlan, item: Node) -> tuple[Finding, ...]:
    wanted = next(node for node in plan.nodes if node.label == item.facts.label)
    expected = {item.facts.label: expected_of(None, item.facts, wanted)}
    return verify_fleet([item.facts], Evidence(expected=expected, against_patch=True)).findings


Change = Callable[[Node], Node]
CASES: list[tuple[str, str, str, Change]] = [
    ("N101", f"cp1:{PATH}", "the patch mine is gone", lambda n: n.at("1.35.1")),
    ("N102", f"cp1:{PATH}", f"not as run {RUN} left it: - - --v=5 │ + - --v=6", edited),
    ("N102", f"cp1:{PATH}", "by no run that the node keeps", lambda n: n.but(revisions=())),
    ("N103", "cp1", "gone", lambda n: n.but(generation_problem="it is gone")),
    ("N104", "cp1", "no scheduler runs", lambda n: n.but(live=None)),
    ("N104", "cp1", "restarts: 7", lambda n: n.but(live=LivePod("", 1, 7, ready=False))),
    ("N105", "cp1", "restarts: 2", lambda n: n.but(live=LivePod("", 1, 2, ready=True))),
    ("N106", "cp1", "restores by itself in 42 s", lambda n: n.open_run()),
    ("N110", "", "no holder", lambda n: n.but(lease_holder="")),
]


def test_a_configuration_that_the_container_sees_otherwise() -> None:
    spec = {"config": {"inline": {"parallelism": 8}}}
    item = node("cp1").after(planned(spec, node("cp1")), RUN)
    assert against(planned(spec, item), item) == ()
    assert item.facts.live_config is not None
    seen = item.facts.live_config.replace(b"parallelism: 8", b"parallelism: 9")
    (finding,) = against(planned(spec, item), item.but(live_config=seen))
    assert finding.code == "N125"
    assert "-parallelism: 9 │ +parallelism: 8" in finding.message


def test_a_node_as_it_was_left() -> None:
    assert verified(patched()) == ()


@pytest.mark.parametrize("code, where, words, change", CASES)
def test_one_thing_is_wrong(code: str, where: str, words: str, change: Change) -> None:
    (finding,) = verified(change(patched()))
    assert (finding.code, finding.file) == (code, where)
    assert words in finding.message


def test_an_open_run_without_a_dead_man() -> None:
    codes = [finding.code for finding in verified(patched().open_run(dead_man=False))]
    assert codes == ["N106", "N112"]


def test_a_node_that_nothing_was_applied_to_is_only_noted() -> None:
    (finding,) = verified(node("cp1"))
    assert finding.code == "N109"


def test_an_upgrade_after_a_rollback_to_original_is_no_drift() -> None:
    back = patched().rolled_back_to(kubeadm_manifest(34), "20261117-100000-0001")
    assert drift_of(back.facts) is Drift.AS_LEFT
    assert drift_of(back.at("1.35.1").facts) is Drift.UNPATCHED


def test_the_last_run_failed() -> None:
    (revision,) = patched().facts.revisions
    failed = revision._replace(run="20261117-100000-0001", outcome="failed")
    (finding,) = verified(patched().but(revisions=(failed, revision)))
    assert (finding.code, finding.message) == (
        "N111",
        "run 20261117-100000-0001 ended as failed",
    )


def test_a_mixed_cluster_is_named_with_what_closes_it() -> None:
    (finding,) = [item for item in verified(patched(), node("cp2")) if item.code == "N107"]
    assert finding.message == "cp1: patch mine; cp2: un-patched"
    assert finding.hint == "kschedpatch apply -f PATCH cp1 cp2, or kschedpatch rollback cp1 cp2"


def test_kubeadms_own_differences_make_no_mixed_cluster() -> None:
    older = node("cp2").at("1.33.4")
    assert verified(patched(), older.after(planned(VERBOSE, older), RUN)) == ()


def test_the_same_patch_name_with_other_flags_is_mixed() -> None:
    other = node("cp2").after(planned({"scheduler": {"args": {"v": "6"}}}, node("cp2")), RUN)
    assert [finding.code for finding in verified(patched(), other)] == ["N107"]


def test_against_a_patch_the_bytes_count() -> None:
    assert against(planned(VERBOSE, patched()), patched()) == ()
    other = planned({"scheduler": {"args": {"v": "7"}}}, patched())
    (finding,) = against(other, patched())
    assert (finding.code, finding.message) == ("N108", "- - --v=5 │ + - --v=7")


def test_status_of_three_nodes() -> None:
    first, second, third = three()
    nodes = [first.after(planned(VERBOSE, first), RUN), second, edited(third)]
    told = statuses(item.facts for item in nodes)
    assert [(item.label, item.leads, item.patch, item.run) for item in told] == [
        ("cp1", False, "mine", RUN),
        ("cp2", True, "", ""),
        ("cp3", False, "", ""),
    ]
    assert [item.drift for item in told] == [Drift.AS_LEFT, Drift.UNPATCHED, Drift.UNPATCHED]
