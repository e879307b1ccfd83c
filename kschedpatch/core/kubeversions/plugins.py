"""The scheduler's own plugins: names, extension points and default sets of every minor.

Sources: pkg/scheduler/framework/plugins (registry.go, and the methods of each plugin) and
pkg/scheduler/apis/config/*/default_plugins.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

#: In the order in which the scheduler builds them: the first one that fails is the one it names.
POINTS = (
    "preFilter", "filter", "postFilter", "reserve", "preScore", "score", "preBind", "bind",
    "postBind", "permit", "preEnqueue", "queueSort", "placementGenerate", "placementScore",
)  # fmt: skip

# First and last minor (a star: always, or still there), then the points: `preScore@27` from 1.27
# on, `postBind@26-31` in these only.
_PLUGINS = """
AzureDiskLimits * 31 preFilter@28 filter
CinderLimits * 31 preFilter@28 filter
DefaultBinder * * bind
DefaultPreemption * * postFilter preEnqueue@32
DynamicResources 26 * preFilter filter postFilter reserve preScore@26-31 score@35 preBind@30 postBind@26-31 preEnqueue@28
EBSLimits * 31 preFilter@28 filter
GCEPDLimits * 31 preFilter@28 filter
GangScheduling 35 * reserve@35-35 permit preEnqueue
ImageLocality * * score
InterPodAffinity * * preFilter filter preScore score
NodeAffinity * * preFilter filter preScore score
NodeDeclaredFeatures 35 * preFilter filter
NodeLabel * 22 filter score
NodeName * * filter
NodePorts * * preFilter filter
NodePreferAvoidPods * 22 score
NodeResourcesBalancedAllocation * * preScore@27 score
NodeResourcesFit * * preFilter filter preScore@27 score placementScore@36
NodeResourcesLeastAllocated * 22 score
NodeResourcesMostAllocated * 22 score
NodeUnschedulable * * filter
NodeVolumeLimits * * preFilter@28 filter
PodGroupPodsCount 36 * placementScore
PodTopologySpread * * preFilter filter preScore score
PrioritySort * * queueSort
RequestedToCapacityRatio * 22 score
SchedulingGates 26 * preEnqueue
SelectorSpread * 28 preScore score
ServiceAffinity * 22 preFilter filter score
TaintToleration * * filter preScore score
TopologyPlacementGenerator 36 * placementGenerate
VolumeBinding * * preFilter filter preScore@30 score reserve preBind
VolumeRestrictions * * preFilter filter
VolumeZone * * preFilter@27 filter
"""  # noqa: E501  one line a plugin


@cache
def plugin_points(minor: int) -> Mapping[str, frozenset[str]]:
    """Every plugin that the stock scheduler of this minor registers, with its points."""
    found = {}
    for line in _PLUGINS.strip().splitlines():
        name, first, last, *points = line.split()
        if (first == "*" or int(first) <= minor) and (last == "*" or minor <= int(last)):
            found[name] = frozenset(_in_minor(points, minor))
    return found


def _in_minor(points: Iterable[str], minor: int) -> Iterable[str]:
    for spec in points:
        point, _, minors = spec.partition("@")
        first, _, last = minors.partition("-")
        if (not first or int(first) <= minor) and (not last or minor <= int(last)):
            yield point


def stock_plugins(minor: int) -> frozenset[str]:
    """The plugins that the stock scheduler of this minor registers."""
    return frozenset(plugin_points(minor))


def refused_plugins(version: str, minor: int) -> frozenset[str]:
    """Names that configurations of this version may not use any more, wherever else they exist.

    The scheduler looks for them at single extension points and in pluginConfig, not in multiPoint.
    """
    if minor == 22 and version == "v1beta2":
        return frozenset(
            ["NodeLabel", "ServiceAffinity", "NodePreferAvoidPods", "NodeResourcesLeastAllocated",
             "NodeResourcesMostAllocated", "RequestedToCapacityRatio"]
        )  # fmt: skip
    if version == "v1" and minor <= 28:
        return frozenset(["SelectorSpread"])
    if minor >= 31:
        return frozenset(["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"])
    return frozenset()


# Name and weight; 0 where the scheduler's own list gives none.
_MULTI_POINT = """
PrioritySort NodeUnschedulable NodeName TaintToleration:3 NodeAffinity:2 NodePorts
NodeResourcesFit:1 VolumeRestrictions EBSLimits GCEPDLimits NodeVolumeLimits AzureDiskLimits
VolumeBinding VolumeZone PodTopologySpread:2 InterPodAffinity:2 DefaultPreemption
NodeResourcesBalancedAllocation:1 ImageLocality:1 DefaultBinder
"""
_BY_POINT = {
    "queueSort": "PrioritySort",
    "preFilter": "NodeResourcesFit NodePorts VolumeRestrictions PodTopologySpread InterPodAffinity "
    "VolumeBinding NodeAffinity",
    "filter": "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit "
    "VolumeRestrictions EBSLimits GCEPDLimits NodeVolumeLimits AzureDiskLimits VolumeBinding "
    "VolumeZone PodTopologySpread InterPodAffinity",
    "postFilter": "DefaultPreemption",
    "preScore": "InterPodAffinity PodTopologySpread TaintToleration NodeAffinity",
    "reserve": "VolumeBinding",
    "preBind": "VolumeBinding",
    "bind": "DefaultBinder",
}
_SCORE = {
    "v1beta1": "NodeResourcesBalancedAllocation:1 ImageLocality:1 InterPodAffinity:1 "
    "NodeResourcesLeastAllocated:1 NodeAffinity:1 NodePreferAvoidPods:10000 PodTopologySpread:2 "
    "TaintToleration:1",
    "v1beta2": "NodeResourcesBalancedAllocation:1 ImageLocality:1 InterPodAffinity:1 "
    "NodeResourcesFit:1 NodeAffinity:1 PodTopologySpread:2 TaintToleration:1",
}

Weighted = tuple[str, int]


def default_plugins(
    version: str, minor: int, gates: frozenset[str]
) -> dict[str, tuple[Weighted, ...]]:
    """What a profile has before the user's own sets are merged in: per point, or multiPoint."""
    if version in _SCORE:
        return _defaults_by_point(version, gates)
    names = _MULTI_POINT.split()
    if minor >= 31:
        names = [
            name for name in names if name not in {"EBSLimits", "GCEPDLimits", "AzureDiskLimits"}
        ]
    if minor >= 30:
        names.insert(0, "SchedulingGates")
    elif minor == 23 and "DefaultPodTopologySpread" not in gates:
        names.append("SelectorSpread:1")
    elif "PodSchedulingReadiness" in gates:
        names.append("SchedulingGates")
    if version == "v1" and "DynamicResourceAllocation" in gates:
        weighted = "DynamicResources:2" if minor >= 35 else "DynamicResources"
        names.insert(names.index("DefaultPreemption"), weighted)
    names += [name for gate, name in _GATED if gate in gates]
    return {"multiPoint": _weighted(names)}


_GATED = (
    ("NodeDeclaredFeatures", "NodeDeclaredFeatures"),
    ("GangScheduling", "GangScheduling"),
    ("TopologyAwareWorkloadScheduling", "TopologyPlacementGenerator"),
    ("TopologyAwareWorkloadScheduling", "PodGroupPodsCount:1"),
)


def _defaults_by_point(version: str, gates: frozenset[str]) -> dict[str, tuple[Weighted, ...]]:
    chosen = {point: names.split() for point, names in _BY_POINT.items()}
    chosen["score"] = _SCORE[version].split()
    if "VolumeCapacityPriority" in gates:
        chosen["score"].append("VolumeBinding:1")
    if "DefaultPodTopologySpread" not in gates:
        chosen["preScore"].append("SelectorSpread")
        chosen["score"].append("SelectorSpread:1")
    if "PodSchedulingReadiness" in gates:
        chosen["preEnqueue"] = ["SchedulingGates"]
    return {point: _weighted(names) for point, names in chosen.items()}


def _weighted(names: Iterable[str]) -> tuple[Weighted, ...]:
    pairs = (name.partition(":") for name in names)
    return tuple((name, int(weight or 0)) for name, _, weight in pairs)
