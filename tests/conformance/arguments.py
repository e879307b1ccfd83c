"""Arguments of the plugins that take any, mostly right."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from .scalars import (
    BOOLEANS,
    DURATIONS,
    EXTENDED_RESOURCES,
    LABEL_KEYS,
    LABEL_VALUES,
    number,
    one_of,
)
from .tree import Map, Token, Tree, mapping

Trees: TypeAlias = SearchStrategy[Tree]


def fields(required: dict[str, Trees], optional: dict[str, Trees]) -> SearchStrategy[Map]:
    """A mapping with all of the one and some of the other, as a list of strategies would be
    written."""
    return st.fixed_dictionaries(required, optional=optional).map(mapping)


def listed(item: Trees, least: int = 0, most: int = 3) -> Trees:
    return st.lists(item, min_size=least, max_size=most).map(tuple)


def _resource(weights: Trees) -> SearchStrategy[Map]:
    names = one_of("cpu", "memory", "ephemeral-storage") | EXTENDED_RESOURCES
    return fields({"name": names}, {"weight": weights})


def _unique_resources(weights: Trees) -> Trees:
    return st.lists(_resource(weights), max_size=3, unique_by=lambda item: item.pairs[0][1]).map(
        tuple
    )


def weighed_resources() -> Trees:
    return _unique_resources(number(1, 100))


@st.composite
def shape(draw: st.DrawFn) -> Tree:
    """Points of a utilization shape, rising as they must."""
    steps = draw(st.lists(st.integers(0, 100), min_size=1, max_size=4, unique=True).map(sorted))
    return tuple(
        mapping({"utilization": Token(str(step)), "score": draw(number(0, 10))}) for step in steps
    )


def _strategy() -> Trees:
    kind = one_of("LeastAllocated", "MostAllocated")
    resources = {"resources": _unique_resources(number(1, 100))}
    ratio = fields({"shape": shape()}, {})
    packed = one_of("RequestedToCapacityRatio")
    return fields({"type": kind}, resources) | fields(
        {"type": packed, "requestedToCapacityRatio": ratio}, resources
    )


@st.composite
def _requirement(draw: st.DrawFn) -> Tree:
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    found: dict[str, Tree] = {"key": draw(LABEL_KEYS), "operator": Token(operator)}
    if operator in ("In", "NotIn"):
        found["values"] = draw(listed(LABEL_VALUES, 1))
    elif operator in ("Gt", "Lt"):
        found["values"] = (draw(one_of('"5"', '"-3"', "'0'")),)
    return mapping(found)


_BY_NAME = fields(
    {
        "key": one_of("metadata.name"),
        "operator": one_of("In", "NotIn"),
        "values": listed(one_of("node-a", "k8s-node02"), 1, 1),
    },
    {},
)
_TERM = fields(
    {}, {"matchExpressions": listed(_requirement(), 0, 2), "matchFields": listed(_BY_NAME, 0, 1)}
)
_AFFINITY = fields(
    {},
    {
        "requiredDuringSchedulingIgnoredDuringExecution": fields(
            {"nodeSelectorTerms": listed(_TERM, 1, 2)}, {}
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": listed(
            fields({"weight": number(1, 100), "preference": _TERM}, {}), 0, 2
        ),
    },
)
_CONSTRAINTS = st.lists(
    fields(
        {
            "maxSkew": number(1, 5),
            "topologyKey": LABEL_KEYS,
            "whenUnsatisfiable": one_of("DoNotSchedule", "ScheduleAnyway"),
        },
        {},
    ),
    max_size=3,
    unique_by=lambda item: (item.pairs[1][1], item.pairs[2][1]),
).map(tuple)
_SPREAD = fields({"defaultingType": one_of("List")}, {"defaultConstraints": _CONSTRAINTS}) | fields(
    {}, {"defaultingType": one_of("System")}
)
_LABELS = listed(LABEL_KEYS)
_NODE_LABELS = (
    "presentLabels", "absentLabels", "presentLabelsPreference", "absentLabelsPreference",
)  # fmt: skip
_SERVICE_LABELS = ("affinityLabels", "antiAffinityLabelsPreference")
_WEIGHED = weighed_resources()

_ARGUMENTS: dict[str, tuple[int, int, Callable[[int], Trees]]] = {
    "DefaultPreemption": (
        22, 99,
        lambda _: fields(
            {},
            {
                "minCandidateNodesPercentage": number(1, 100),
                "minCandidateNodesAbsolute": number(1, 500),
            },
        ),
    ),
    "InterPodAffinity": (
        22, 99,
        lambda minor: fields(
            {},
            {
                "hardPodAffinityWeight": number(0, 100),
                **({"ignorePreferredTermsOfExistingPods": BOOLEANS} if minor >= 27 else {}),
            },
        ),
    ),
    "NodeAffinity": (22, 99, lambda _: fields({}, {"addedAffinity": _AFFINITY})),
    "NodeResourcesBalancedAllocation": (
        22, 99, lambda _: fields({}, {"resources": _unique_resources(number(1, 1))}),
    ),
    "NodeResourcesFit": (
        22, 99,
        lambda _: fields(
            {},
            {
                "ignoredResources": listed(EXTENDED_RESOURCES, 0, 2),
                "ignoredResourceGroups": listed(one_of("example.com", "nvidia.com"), 0, 2),
                "scoringStrategy": _strategy(),
            },
        ),
    ),
    "PodTopologySpread": (22, 99, lambda _: _SPREAD),
    "VolumeBinding": (22, 99, lambda _: fields({}, {"bindTimeoutSeconds": number(0, 900)})),
    "DynamicResources": (34, 99, lambda _: fields({}, {"filterTimeout": DURATIONS})),
    "NodeLabel": (22, 22, lambda _: fields({}, dict.fromkeys(_NODE_LABELS, _LABELS))),
    "ServiceAffinity": (22, 22, lambda _: fields({}, dict.fromkeys(_SERVICE_LABELS, _LABELS))),
    "NodeResourcesLeastAllocated": (22, 22, lambda _: fields({}, {"resources": _WEIGHED})),
    "NodeResourcesMostAllocated": (22, 22, lambda _: fields({}, {"resources": _WEIGHED})),
    "RequestedToCapacityRatio": (
        22, 22, lambda _: fields({"shape": shape()}, {"resources": _WEIGHED}),
    ),
}  # fmt: skip


def argued(minor: int) -> list[str]:
    """Plugins that take arguments there."""
    return [name for name, (first, last, _) in _ARGUMENTS.items() if first <= minor <= last]


def arguments(minor: int, plugin: str) -> Trees:
    return _ARGUMENTS[plugin][2](minor)
