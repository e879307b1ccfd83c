"""Probe pods: how they are made, what their fate says, and when a score plugin is not asked."""

from __future__ import annotations

from typing import Any

import pytest

from kschedpatch.core.fleet.keptpatch import MOST_BYTES, kept_text
from kschedpatch.core.fleet.verifying.feasibility import feasible_nodes
from kschedpatch.core.fleet.verifying.probes import probe_body, probe_checks, probes_of
from kschedpatch.inputs.keptpatches import UnreadablePatch, read_kept_patch
from kschedpatch.model.checks import Check, CheckState
from kschedpatch.model.probing import ClusterNode, ProbeAsked, ProbeLook, ProbeReport
from tests.unit.patches import patch_input

POD = """apiVersion: v1
kind: Pod
metadata: {name: timestamped, labels: {app: x}, uid: "1"}
spec: {nodeName: cp9, containers: [{name: a, image: b}]}
"""
SPEC = {"verify": {"pods": [{"manifest": "./probe.yaml", "expectNode": "n1",
                             "expectAnnotations": ["Stamp"]}]}}  # fmt: skip
GIVEN = patch_input(SPEC, name="mine", files={"./probe.yaml": POD})
(ASKED,) = probes_of(GIVEN)
CONFIG = {"profiles": [{"plugins": {"score": {"enabled": [{"name": "Stamper"}]}}}]}
TAINT = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
NODES = (ClusterNode("n1"), ClusterNode("n2"), ClusterNode("cp1", taints=(TAINT,)))
BOUND = ProbeLook(
    ASKED, node="n1", bound_by="default-scheduler", instance="default-scheduler-cp1",
    annotations={"Stamp": "17"}, seconds=1,
)  # fmt: skip


def test_a_probe_has_a_name_of_its_own_and_our_labels() -> None:
    body = probe_body(ASKED, "0123abcd", 0)
    assert body["metadata"] == {
        "name": "kschedpatch-timestamped-0123abcd-0",
        "namespace": "default",
        "labels": {
            "app": "x",
            "app.kubernetes.io/managed-by": "kschedpatch",
            "kschedpatch.io/probe": "0123abcd",
        },
    }
    assert "nodeName" not in body["spec"], "nobody would schedule it"


@pytest.mark.parametrize("text", ["", "[", "kind: List", POD + "---\n" + POD, "kind: Pod"])
def test_what_is_no_pod_is_told_as_that(text: str) -> None:
    (asked,) = probes_of(patch_input(SPEC, name="mine", files={"./probe.yaml": text}))
    (check,) = probe_checks(ProbeReport((ProbeLook(asked),)), CONFIG, [])
    assert [finding.code for finding in check.findings] == ["N140"]


def checked(look: ProbeLook, nodes: Any = NODES, config: Any = CONFIG) -> dict[str, Check]:
    checks = probe_checks(ProbeReport((look,), nodes), config, ["cp1"])
    return {check.subject: check for check in checks}


def found(checks: dict[str, Check]) -> set[str]:
    return {finding.code for check in checks.values() for finding in check.findings}


def test_all_is_as_expected() -> None:
    checks = checked(BOUND)
    assert {check.state for check in checks.values()} == {CheckState.OK}
    told = checks["probe pod timestamped"].evidence
    assert told == "bound to n1 by default-scheduler on cp1"


CASES: list[tuple[set[str], ProbeLook]] = [
    ({"N140"}, ProbeLook(ASKED, "forbidden: exceeded quota")),
    ({"N141"}, ProbeLook(ASKED, condition="Unschedulable: 0/3 nodes", seconds=60)),
    ({"N142"}, BOUND._replace(bound_by="another", instance="another-cp1")),
    ({"N143"}, BOUND._replace(node="n2")),
    ({"N144"}, BOUND._replace(annotations={})),
    ({"N150"}, BOUND._replace(instance="default-scheduler-cp7")),
]


@pytest.mark.parametrize("codes, look", CASES)
def test_one_thing_is_not(codes: set[str], look: ProbeLook) -> None:
    assert found(checked(look)) == codes


def test_a_pod_of_a_profile_that_nobody_serves() -> None:
    served = {"profiles": [{"schedulerName": "other"}]}
    assert found(checked(ProbeLook(ASKED, seconds=60), config=served)) == {"N141", "N142"}


@pytest.mark.parametrize("key", ["control-plane", "master"])
def test_with_one_feasible_node_nothing_that_scores_do_is_expected(key: str) -> None:
    taint = {"key": f"node-role.kubernetes.io/{key}", "effect": "NoSchedule"}
    nodes = (ClusterNode("n1"), ClusterNode("cp1", taints=(taint,)))
    checks = checked(BOUND._replace(annotations={}, node="n1"), nodes)
    assert found(checks) == {"N145"}
    assert checks["annotation Stamp of timestamped"].state is CheckState.WARNING
    (finding,) = checks["score plugins on timestamped"].findings
    assert "only n1 is feasible" in finding.message
    assert "Stamper is not asked" in finding.message
    assert f"kubectl taint nodes cp1 node-role.kubernetes.io/{key}:NoSchedule-" in finding.hint


def test_without_a_score_plugin_one_node_is_enough() -> None:
    assert found(checked(BOUND, NODES[:1], {})) == set()


def test_pods_that_could_not_be_deleted_are_named_with_the_command() -> None:
    report = ProbeReport((BOUND,), NODES, left="kubectl delete pods -A -l kschedpatch.io/probe=1")
    checks = {check.subject: check for check in probe_checks(report, CONFIG, ["cp1"])}
    (finding,) = checks["probe pods cleaned up"].findings
    assert (finding.code, finding.hint) == ("N146", report.left)


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


def affinity(key: str, operator: str, *values: str, what: str = "matchExpressions") -> Any:
    term = {what: [{"key": key, "operator": operator, "values": list(values)}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return pod(affinity={"nodeAffinity": required})


FLEET = (
    ClusterNode("a", labels={"zone": "1", "gpus": "4"}, allocatable={"nvidia.com/gpu": "4"}),
    ClusterNode("b", labels={"zone": "2"}),
    ClusterNode("c", unschedulable=True),
    ClusterNode("d", taints=({"key": "only", "value": "x", "effect": "NoExecute"},)),
    ClusterNode("e", taints=({"key": "soft", "effect": "PreferNoSchedule"},)),
)


@pytest.mark.parametrize(
    "body, names",
    [
        (pod(), "abe"),
        (pod(tolerations=[{"operator": "Exists"}]), "abcde"),
        (pod(tolerations=[{"key": "only", "value": "x"}]), "abde"),
        (pod(tolerations=[{"key": "only", "value": "y"}]), "abe"),
        (pod(tolerations=[{"key": "only", "operator": "Exists", "effect": "NoSchedule"}]), "abe"),
        (pod(nodeSelector={"zone": "2"}), "b"),
        (affinity("zone", "In", "1", "2"), "ab"),
        (affinity("zone", "NotIn", "1"), "be"),
        (affinity("zone", "DoesNotExist"), "e"),
        (affinity("gpus", "Gt", "3"), "a"),
        (affinity("metadata.name", "In", "b", what="matchFields"), "b"),
        (pod(containers=[{"resources": {"limits": {"nvidia.com/gpu": 4}}}]), "a"),
        (pod(containers=[{"resources": {"limits": {"nvidia.com/gpu": 5}}}]), ""),
        (pod(containers=[{"resources": {"requests": {"cpu": "900"}}}]), "abe"),
    ],
)
def test_feasible_nodes(body: dict[str, Any], names: str) -> None:
    assert "".join(feasible_nodes(body, FLEET).names) == names


def test_the_kept_patch_has_its_probe_pods_with_it() -> None:
    again = read_kept_patch(kept_text(GIVEN).encode(), "cp1:patch.yaml")
    assert again.patch == GIVEN.patch
    assert probes_of(again) == probes_of(GIVEN)


def test_large_files_are_kept_by_their_hash_alone() -> None:
    large = POD + "#" * MOST_BYTES
    given = patch_input(SPEC, name="mine", files={"./probe.yaml": large})
    text = kept_text(given)
    assert len(text) < 2000
    again = read_kept_patch(text.encode(), "x")
    assert again.sources["./probe.yaml"].sha256 == given.sources["./probe.yaml"].sha256
    (asked,) = probes_of(again)
    assert asked == ProbeAsked(
        "./probe.yaml",
        None,
        "its manifest is not at hand: give the patch with -f",
        "n1",
        ("Stamp",),
    )


def test_files_for_the_container_are_not_kept_twice() -> None:
    """They may be keys; the generation has them."""
    spec = {"files": [{"source": "./tls.key", "mountPath": "/etc/tls.key", "mode": "0600"}]}
    text = kept_text(patch_input(spec, name="mine", files={"./tls.key": "very secret"}))
    assert "very secret" not in text


def test_a_kept_file_that_was_changed_on_the_node_does_not_count() -> None:
    text = kept_text(GIVEN).replace("image: b", "image: evil")
    assert text != kept_text(GIVEN)
    assert read_kept_patch(text.encode(), "x").sources["./probe.yaml"].content is None


@pytest.mark.parametrize("text", [b"", b"[]", b"kind: Pod\n", b"\xff", b"apiVersion: x\n", b"{"])
def test_a_kept_patch_that_is_none(text: bytes) -> None:
    with pytest.raises(UnreadablePatch):
        read_kept_patch(text, "x")
