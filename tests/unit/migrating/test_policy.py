"""A Policy is judged as 1.22 does; what it comes to follows 1.22's own table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.schedconfig.policy import names
from kschedpatch.core.schedconfig.policy.judge import judge_policy
from kschedpatch.core.schedconfig.policy.selection import select

POLICIES = Path(__file__).parents[3] / "fixtures" / "policies"
HEAD: dict[str, Any] = {"kind": "Policy", "apiVersion": "v1"}


def errors(value: dict[str, Any] | str) -> list[tuple[str, str]]:
    text = value if isinstance(value, str) else json.dumps({**HEAD, **value})
    return [(f.code, f.path) for f in judge_policy(text.encode(), "policy.json") if f.is_error]


def priority(name: str, weight: int = 1, **argument: Any) -> dict[str, Any]:
    return {"name": name, "weight": weight, **({"argument": argument} if argument else {})}


def ratio(*points: tuple[int, int], **more: Any) -> dict[str, Any]:
    shape = [{"utilization": at, "score": score} for at, score in points]
    return {"requestedToCapacityRatioArguments": {"shape": shape, **more}}


def extender(**fields: Any) -> dict[str, Any]:
    return {"extenders": [{"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter", **fields}]}


TAKEN: list[dict[str, Any]] = [
    {},
    {"predicates": None, "priorities": None},
    {"predicates": [], "priorities": []},
    {"predicates": [{"name": name} for name in names.PREDICATES
                    if name not in names.NEED_ARGUMENT]},
    {"priorities": [priority(name, 3) for name in names.PRIORITIES
                    if name not in names.NEED_ARGUMENT]},
    {"predicates": [{"name": "PodFitsPorts"}]},
    {"priorities": [priority("ServiceSpreadingPriority")]},
    {"priorities": [priority("EqualPriority")]},
    # The table's own name counts as soon as another entry brings the arguments.
    {"predicates": [{"name": "CheckServiceAffinity"},
                    {"name": "Mine", "argument": {"serviceAffinity": {"labels": ["a"]}}}]},
    # An extender's keys are read without regard to case, and unknown ones are forgotten.
    extender(EnableHTTPS=True, HTTPTIMEOUT=5, apiVersion="v1beta1"),
    extender(prioritizeVerb="p", weight=1),
    {"extenders": [None]},
    {"hardPodAffinitySymmetricWeight": 100},
]  # fmt: skip

REFUSED: list[tuple[dict[str, Any] | str, tuple[str, str]]] = [
    ('{"kind": "Policy", "predicates": []}', ("L001", "")),
    ('{"kind": "Policy", "apiVersion": "v1beta1"}', ("L001", "apiVersion")),
    ('{"kind": "Policy", "apiVersion": "v1", }', ("Y019", "")),
    ({"predicate": []}, ("L003", "predicate")),
    ({"Predicates": []}, ("L003", "Predicates")),
    ({"predicates": [{"name": "HostName", "weight": 1}]}, ("L003", "predicates[0].weight")),
    ({"predicates": {}}, ("L004", "predicates")),
    ({"alwaysCheckAllPredicates": "yes"}, ("L004", "alwaysCheckAllPredicates")),
    ({"priorities": [{"name": "EqualPriority", "weight": 1.0}]}, ("L004", "priorities[0].weight")),
    ({"hardPodAffinitySymmetricWeight": 2**31}, ("L004", "hardPodAffinitySymmetricWeight")),
    (extender(httpTimeout="30s"), ("L004", "extenders[0].httpTimeout")),
    (extender(tlsConfig={"caData": "!"}), ("L004", "extenders[0].tlsConfig.caData")),
    ({"predicates": [{"name": "PodFitsHost"}]}, ("L002", "predicates[0].name")),
    ({"predicates": [None]}, ("L002", "predicates[0].name")),
    ({"priorities": [priority("NodeAffinity")]}, ("L002", "priorities[0].name")),
    ({"priorities": [priority("ImageLocalityPriority", 0)]}, ("L005", "priorities[0].weight")),
    ({"priorities": [priority("EqualPriority", -1)]}, ("L005", "priorities[0].weight")),
    ({"hardPodAffinitySymmetricWeight": 101}, ("L005", "hardPodAffinitySymmetricWeight")),
    ({"priorities": [priority("A", 1, labelPreference={"label": "a"}),
                     priority("B", 2, labelPreference={"label": "b"})]},
     ("L005", "priorities[1].weight")),
    ({"predicates": [{"name": "HostName", "argument": {}}]}, ("L006", "predicates[0].argument")),
    ({"priorities": [priority("A", **ratio((0, 0)), labelPreference={"label": "a"})]},
     ("L006", "priorities[0].argument")),
    # Under the table's own name the argument is not looked at: nothing to build the plugin from.
    ({"predicates": [{"name": "CheckNodeLabelPresence",
                      "argument": {"labelsPresence": {"labels": ["a"], "presence": True}}}]},
     ("L006", "predicates[0].name")),
    ({"priorities": [priority("RequestedToCapacityRatio")]}, ("L006", "priorities[0].name")),
    ({"priorities": [priority("A", **ratio((0, 0))), priority("B", **ratio((0, 0)))]},
     ("L006", "priorities[1].argument.requestedToCapacityRatioArguments")),
    ({"priorities": [priority("A", **ratio())]},
     ("L006", "priorities[0].argument.requestedToCapacityRatioArguments.shape")),
    ({"priorities": [priority("A", **ratio((0, 11)))]},
     ("L006", "priorities[0].argument.requestedToCapacityRatioArguments.shape[0].score")),
    ({"priorities": [priority("A", **ratio((5, 1), (5, 2)))]},
     ("L006", "priorities[0].argument.requestedToCapacityRatioArguments.shape[1].utilization")),
    ({"priorities": [priority("A", **ratio((0, 0), resources=[{"name": "cpu"}]))]},
     ("L006", "priorities[0].argument.requestedToCapacityRatioArguments.resources[0].weight")),
    ({"predicates": [{"name": "A", "argument": {"labelsPresence": {"labels": ["x"],
                                                                   "presence": True}}},
                     {"name": "B", "argument": {"labelsPresence": {"labels": ["x"]}}}]},
     ("L006", "predicates")),
    (extender(prioritizeVerb="p"), ("L007", "extenders[0].weight")),
    (extender(managedResources=[{"name": "cpu"}]),
     ("L007", "extenders[0].managedResources[0].name")),
    (extender(managedResources=[{"name": "a.example/x"}, {"name": "a.example/x"}]),
     ("L007", "extenders[0].managedResources[1].name")),
    ({"extenders": [{"bindVerb": "b"}, {"bindVerb": "b"}]}, ("L007", "extenders[1].bindVerb")),
    # Without NodeResourcesFit there is nothing that could ignore a resource.
    ({"predicates": [], **extender(managedResources=[{"name": "a.example/x",
                                                      "ignoredByScheduler": True}])},
     ("L007", "extenders[0].managedResources[0].name")),
    (extender(tlsConfig={"insecure": True, "caFile": "/ca"}),
     ("L007", "extenders[0].tlsConfig.insecure")),
]  # fmt: skip


@pytest.mark.parametrize("policy", TAKEN, ids=lambda p: json.dumps(p)[:60])
def test_what_1_22_takes(policy: dict[str, Any]) -> None:
    assert errors(policy) == []


@pytest.mark.parametrize(("policy", "expected"), REFUSED, ids=lambda p: json.dumps(p)[:60])
def test_what_1_22_refuses(policy: dict[str, Any] | str, expected: tuple[str, str]) -> None:
    assert expected in errors(policy)
    assert {code for code, _ in errors(policy)} == {expected[0]}


def test_yaml_is_read_as_well_and_lines_are_told() -> None:
    text = b"apiVersion: v1\nkind: Policy\npredicates:\n- name: HostName\n- name: PodFitsHost\n"
    (finding,) = judge_policy(text, "policy.yaml")
    assert (finding.line, finding.hint) == (5, "did you mean HostName?")


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        ("PodFitsHost", "predicates", "HostName"),
        ("PodSelectorMatches", "predicates", "MatchNodeSelector"),
        ("MaxCSIVolumeCount", "predicates", "MaxCSIVolumeCountPred"),
        ("PodAffinityPredicate", "predicates", "MatchInterPodAffinity"),
        ("CheckNodeDiskPressure", "predicates", "taints"),
        ("CheckNodeMemoryPressure", "predicates", "taints"),
        ("NodeMemoryPressurePredicate", "predicates", "taints"),
        ("CheckNodeConditionPred", "predicates", "taints"),
        ("CheckNodePIDPressurePred", "predicates", "taints"),
        ("leastrequestedpriority", "priorities", "LeastRequestedPriority"),
        ("RequestedToCapacityRatioPriority", "priorities", "argument"),
    ],
)
def test_names_in_circulation_lead_to_what_is_meant(wrong: str, kind: str, words: str) -> None:
    assert words in names.advice(wrong, kind)


def test_absent_lists_are_the_defaults_and_empty_ones_are_nothing() -> None:
    absent, empty = select({}), select({"predicates": [], "priorities": []})
    assert len(absent.filters) == 15
    assert absent.scores["NodePreferAvoidPods"] == 10000
    assert absent.scores["PodTopologySpread"] == 2
    assert absent.args == {"PodTopologySpread": {"defaultingType": "System"}}
    assert empty.filters == ("NodeUnschedulable", "TaintToleration")
    assert empty.scores == {}


def test_preferences_of_one_kind_share_a_plugin_that_counts_for_all() -> None:
    chosen = select({"priorities": [
        priority("A", 4, labelPreference={"label": "a", "presence": True}),
        priority("B", 4, labelPreference={"label": "b"}),
        priority("EvenPodsSpreadPriority", 7),
    ]})  # fmt: skip
    assert chosen.scores == {"NodeLabel": 8, "PodTopologySpread": 7}
    assert chosen.args["NodeLabel"] == {
        "presentLabelsPreference": ["a"], "absentLabelsPreference": ["b"],
    }  # fmt: skip
    assert chosen.args["PodTopologySpread"] == {"defaultingType": "List"}
