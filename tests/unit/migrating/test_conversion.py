"""Another version of the configuration, the same meaning; and what has none there is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.schedconfig.conversion.configuration import Choices
from kschedpatch.core.schedconfig.conversion.roles import roles_of
from kschedpatch.core.schedconfig.conversion.settings import Setting
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.inputs.migrating import Migration, migrate_path
from kschedpatch.model.kubeversion import KubeVersion

FIXTURES = Path(__file__).parents[3] / "fixtures"
CONFIGS = FIXTURES / "configs" / "migrate"


def migrated(path: Path, minor: int, **choices: bool) -> Migration:
    return migrate_path(str(path), KubeVersion(minor), None, Choices(**choices))


def value_after(path: Path, minor: int, **choices: bool) -> dict[str, Any]:
    result = migrated(path, minor, **choices)
    assert result.files, result.findings
    value = value_of(read(result.files[0].after.encode()).documents[0])
    assert isinstance(value, dict)
    return value


def config(tmp_path: Path, version: str, text: str) -> Path:
    path = tmp_path / "config.yaml"
    head = f"apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n"
    path.write_text(head + text)
    return path


def scores(value: dict[str, Any], index: int = 0, minor: int = 35) -> dict[str, int]:
    return roles_of(value["profiles"][index].get("plugins"), Setting("v1", minor))["score"]


OLD_WEIGHTS = {"InterPodAffinity": 1, "NodeAffinity": 1, "TaintToleration": 1}


@pytest.mark.parametrize("name", ["v1beta2-extender", "v1beta2-weights", "v1beta1-most"])
def test_the_old_weights_are_written_out(name: str) -> None:
    value = value_after(CONFIGS / f"{name}.yaml", 35)
    index = len(value["profiles"]) - 1
    assert OLD_WEIGHTS.items() <= scores(value, index).items()


def test_new_weights_are_the_targets_where_none_is_written() -> None:
    value = value_after(CONFIGS / "v1beta2-weights.yaml", 35, new_weights=True)
    assert scores(value)["NodeAffinity"] == 5
    assert scores(value)["TaintToleration"] == 3


def test_v1beta3_has_the_weights_of_v1() -> None:
    value = value_after(CONFIGS / "v1beta3-old-plugins.yaml", 35)
    assert "score" not in value["profiles"][0]["plugins"]
    assert value["leaderElection"]["resourceLock"] == "leases"


@pytest.mark.parametrize(
    ("name", "weight", "strategy"),
    [
        ("v1beta1-least", 2, {"type": "LeastAllocated",
                              "resources": [{"name": "cpu", "weight": 3},
                                            {"name": "memory", "weight": 1}]}),
        ("v1beta1-most", 5, {"type": "MostAllocated"}),
        ("v1beta1-ratio", 4, {"type": "RequestedToCapacityRatio",
                              "resources": [{"name": "nvidia.com/gpu", "weight": 4},
                                            {"name": "cpu", "weight": 1}],
                              "requestedToCapacityRatio": {"shape": [
                                  {"utilization": 0, "score": 0},
                                  {"utilization": 100, "score": 10}]}}),
    ],
)  # fmt: skip
def test_resource_plugins_become_strategies(
    name: str, weight: int, strategy: dict[str, Any]
) -> None:
    value = value_after(CONFIGS / f"{name}.yaml", 34)
    assert scores(value)["NodeResourcesFit"] == weight
    (fit,) = (c for c in value["profiles"][0]["pluginConfig"] if c["name"] == "NodeResourcesFit")
    assert fit["args"]["scoringStrategy"] == strategy


def test_who_scored_no_resources_does_not_begin_to() -> None:
    value = value_after(CONFIGS / "v1beta1-no-resources.yaml", 35)
    assert "NodeResourcesFit" not in scores(value)
    assert (
        "NodeResourcesFit" in roles_of(value["profiles"][0]["plugins"], Setting("v1", 35))["filter"]
    )


def test_required_labels_become_added_affinity() -> None:
    value = value_after(CONFIGS / "v1beta1-labels.yaml", 35)
    (affinity,) = value["profiles"][0]["pluginConfig"]
    terms = affinity["args"]["addedAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"] == [{"matchExpressions": [
        {"key": "rack", "operator": "Exists"}, {"key": "retired", "operator": "DoesNotExist"},
    ]}]  # fmt: skip


def test_multi_point_of_v1beta2_does_not_begin_to_count() -> None:
    value = value_after(CONFIGS / "v1beta2-multipoint.yaml", 35)
    assert scores(value)["NodeResourcesFit"] == 1
    assert len(roles_of(value["profiles"][0]["plugins"], Setting("v1", 35))["filter"]) == 12


@pytest.mark.parametrize(
    ("version", "point"),
    [("v1beta2", "multiPoint"), ("v1beta2", "preEnqueue"), ("v1beta3", "preEnqueue")],
)
def test_what_a_version_forgets_is_named_and_does_not_begin_to_count(
    tmp_path: Path, version: str, point: str
) -> None:
    text = f"profiles:\n- plugins: {{{point}: {{enabled: [{{name: Mine}}]}}}}\n"
    result = migrated(config(tmp_path, version, text), 35)
    assert "Mine" not in result.files[0].after
    named = [f.message for f in result.findings if f.path == f"profiles[0].plugins.{point}"]
    assert named == [f"taken away: {version} reads it and forgets it"]


def test_down_to_1_22() -> None:
    value = value_after(CONFIGS / "v1-young.yaml", 22)
    profile = value["profiles"][0]
    assert value["apiVersion"].endswith("/v1beta2")
    assert value["percentageOfNodesToScore"] == 40
    assert "delayCacheUntilActive" not in value
    assert "multiPoint" not in profile["plugins"]
    found = roles_of(profile["plugins"], Setting("v1beta2", 22))["score"]
    assert found["TaintToleration"] == 3
    assert "ImageLocality" not in found


LOST = [
    (CONFIGS / "v1beta1-no-successor.yaml", 35, "ServiceAffinity"),
    (CONFIGS / "v1beta1-no-successor.yaml", 35, "NodePreferAvoidPods"),
    (CONFIGS / "v1beta1-no-successor.yaml", 35, "NodeResourcesLeastAllocated"),
    (CONFIGS / "v1beta3-selectorspread.yaml", 35, "SelectorSpread"),
    (CONFIGS / "v1beta3-selectorspread.yaml", 25, "SelectorSpread"),
    (FIXTURES / "policies" / "with-arguments.json", 30, "NodeLabel"),
]


@pytest.mark.parametrize(("path", "minor", "name"), LOST, ids=lambda p: getattr(p, "stem", str(p)))
def test_what_has_no_successor_stops_it_unless_accepted(path: Path, minor: int, name: str) -> None:
    refused = migrated(path, minor)
    assert not refused.files
    assert any(f.code == "U002" and name in f.message for f in refused.findings)
    accepted = migrated(path, minor, accept_changes=True)
    assert any(f.code == "U003" and name in f.message for f in accepted.findings)
    assert name not in accepted.files[0].after


@pytest.mark.parametrize(
    ("version", "text", "minor", "path"),
    [
        ("v1", "delayCacheUntilActive: true\n", 27, "delayCacheUntilActive"),
        ("v1", "profiles: [{schedulerName: a, percentageOfNodesToScore: 1}, {schedulerName: b}]\n",
         25, "profiles[0].percentageOfNodesToScore"),
        ("v1", "profiles:\n- plugins: {preEnqueue: {enabled: [{name: Mine}]}}\n", 25,
         "profiles[0].plugins.preEnqueue"),
        ("v1", "profiles:\n- pluginConfig: [{name: DynamicResources, args: {filterTimeout: 5s}}]\n",
         33, "profiles[0].pluginConfig[0].args.filterTimeout"),
        ("v1", "profiles:\n- plugins: {multiPoint: {enabled: [{name: DynamicResources}]}}\n", 25,
         "profiles[0].plugins.multiPoint.enabled[0].name"),
    ],
)  # fmt: skip
def test_what_an_older_minor_cannot_say(
    tmp_path: Path, version: str, text: str, minor: int, path: str
) -> None:
    result = migrated(config(tmp_path, version, text), minor)
    assert [f.path for f in result.findings if f.code == "U002"] == [path]


def test_points_of_somebody_elses_plugin_are_not_guessed(tmp_path: Path) -> None:
    text = "profiles:\n- plugins: {multiPoint: {enabled: [{name: Mine}]}}\n"
    result = migrated(config(tmp_path, "v1", text), 22, accept_changes=True)
    assert [f.code for f in result.findings if f.is_error] == ["U005"]


def test_what_the_target_still_refuses_is_told(tmp_path: Path) -> None:
    result = migrated(config(tmp_path, "v1beta3", "parallelsim: 3\n"), 35)
    assert [f.code for f in result.findings if f.is_error] == ["C021"]
    assert not result.files


def test_1_36_takes_no_ratio_beside_another_strategy() -> None:
    after = migrated(CONFIGS / "v1-ratio.yaml", 36).files[0]
    assert "requestedToCapacityRatio" not in after.after
    assert not migrated(CONFIGS / "v1-ratio.yaml", 35).files[0].changed


def test_a_policy_keeps_what_the_target_has_learnt_since() -> None:
    value = value_after(FIXTURES / "policies" / "scheduler-policy-config.json", 35)
    plugins = value["profiles"][0]["plugins"]
    assert {"name": "*"} not in plugins["multiPoint"]["disabled"]
    found = roles_of(plugins, Setting("v1", 35))
    assert found["score"] == {
        "NodeResourcesBalancedAllocation": 1, "NodeAffinity": 2, "TaintToleration": 1,
        "ImageLocality": 1, "PodTopologySpread": 1,
    }  # fmt: skip
    assert found["filter"].keys() == {
        "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts",
        "NodeResourcesFit", "VolumeRestrictions", "VolumeBinding", "InterPodAffinity",
    }  # fmt: skip


def test_an_extender_of_a_policy_is_spelt_anew() -> None:
    (extender,) = value_after(FIXTURES / "policies" / "scheduler-policy-config.json", 35)[
        "extenders"
    ]
    assert extender["httpTimeout"] == "30s"
    assert extender["enableHTTPS"] is False
    assert "enableHttps" not in extender


def test_names_that_1_22_refuses_are_taken_for_what_is_meant(tmp_path: Path) -> None:
    names = ("PodFitsHost", "CheckNodeDiskPressure", "PodFitsResources", "MaxEBSVolumeCount")
    path = tmp_path / "policy.json"
    predicates = [{"name": name} for name in names]
    path.write_text(json.dumps({"kind": "Policy", "apiVersion": "v1", "predicates": predicates}))
    found = roles_of(value_after(path, 35)["profiles"][0]["plugins"], Setting("v1", 35))["filter"]
    assert found.keys() == {
        "NodeUnschedulable", "NodeName", "TaintToleration", "NodeResourcesFit", "NodeVolumeLimits",
    }  # fmt: skip
    messages = [f.message for f in migrated(path, 35).findings if f.code == "U001"]
    assert any("PodFitsHost is taken for HostName" in message for message in messages)
    assert any("CheckNodeDiskPressure left out" in message for message in messages)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("profiles: 3", "profiles"),
        ("profiles: [3]", "profiles[0]"),
        ("profiles: [{plugins: []}]", "profiles[0].plugins"),
        ("profiles: [{plugins: {score: {enabled: [{weight: 1}]}}}]",
         "profiles[0].plugins.score.enabled[0].name"),
        ("profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: true}]}}}]",
         "profiles[0].plugins.score.enabled[0].weight"),
        ("profiles: [{pluginConfig: [{name: [1], args: {}}]}]", "profiles[0].pluginConfig[0].name"),
        ("profiles: [{pluginConfig: [{name: NodeLabel, args: {presentLabels: 3}}]}]",
         "profiles[0].pluginConfig[0].args.presentLabels"),
        ("profiles: [{pluginConfig: [{name: NodeResourcesMostAllocated, args: {resources: [3]}}]}]",
         "profiles[0].pluginConfig[0].args.resources[0]"),
        ("profiles: [{pluginConfig: [{name: NodeResourcesMostAllocated, args: {resources: [~]}}]}]",
         "profiles[0].pluginConfig[0].args.resources[0]"),
        ("profiles: [null]", "profiles[0]"),
        ("leaderElection: {resourceLock: []}", "leaderElection.resourceLock"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", ["v1beta1", "v1"])
def test_what_has_another_shape_is_told_and_left_alone(
    tmp_path: Path, version: str, text: str, place: str
) -> None:
    result = migrated(config(tmp_path, version, text + "\n"), 35, accept_changes=True)
    assert ("C018", place) in {(f.code, f.path) for f in result.findings}
    assert not result.files


def test_the_arguments_of_a_foreign_plugin_are_its_own_affair(tmp_path: Path) -> None:
    text = "profiles: [{pluginConfig: [{name: Mine, args: {resources: [3, null]}}]}]\n"
    result = migrated(config(tmp_path, "v1beta3", text), 35)
    assert not [finding for finding in result.findings if finding.is_error]
    assert "args: {resources: [3, null]}" in result.files[0].after


def test_an_unknown_api_version_is_not_guessed_at(tmp_path: Path) -> None:
    result = migrated(config(tmp_path, "v7", "parallelism: 3\n"), 35)
    assert [(f.code, f.path) for f in result.findings if f.is_error] == [("C002", "apiVersion")]
