"""The in-tree plugins as the generator knows them: a guess is enough, the scheduler decides."""

from __future__ import annotations

POINTS = {
    "multiPoint": 23, "preEnqueue": 26, "queueSort": 0, "preFilter": 0, "filter": 0,
    "postFilter": 0, "preScore": 0, "score": 0, "reserve": 0, "permit": 0, "preBind": 0,
    "bind": 0, "postBind": 0, "placementGenerate": 36, "placementScore": 36,
}  # fmt: skip
"""With the first minor that has the extension point."""

_EVERYWHERE = {
    "PrioritySort": "queueSort",
    "NodeUnschedulable": "filter",
    "NodeName": "filter",
    "TaintToleration": "filter preScore score",
    "NodeAffinity": "preFilter filter preScore score",
    "NodePorts": "preFilter filter",
    "NodeResourcesFit": "preFilter filter preScore score",
    "VolumeRestrictions": "preFilter filter",
    "NodeVolumeLimits": "preFilter filter",
    "VolumeBinding": "preFilter filter preScore score reserve preBind",
    "VolumeZone": "preFilter filter",
    "PodTopologySpread": "preFilter filter preScore score",
    "InterPodAffinity": "preFilter filter preScore score",
    "DefaultPreemption": "preEnqueue postFilter",
    "NodeResourcesBalancedAllocation": "preScore score",
    "ImageLocality": "score",
    "DefaultBinder": "bind",
}
_SOMEWHERE = {
    **dict.fromkeys(
        ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"), (22, 31, "filter")
    ),
    "SelectorSpread": (22, 28, "preScore score"),
    "NodeLabel": (22, 22, "filter score"),
    "NodePreferAvoidPods": (22, 22, "score"),
    "NodeResourcesLeastAllocated": (22, 22, "score"),
    "NodeResourcesMostAllocated": (22, 22, "score"),
    "RequestedToCapacityRatio": (22, 22, "score"),
    "ServiceAffinity": (22, 22, "preFilter filter score"),
    "SchedulingGates": (26, 99, "preEnqueue"),
    "DynamicResources": (26, 99, "preEnqueue preFilter filter postFilter reserve preBind score"),
    "GangScheduling": (35, 99, "preEnqueue reserve permit"),
    "NodeDeclaredFeatures": (35, 99, "preFilter filter"),
    "TopologyPlacementGenerator": (36, 99, "placementGenerate"),
    "PodGroupPodsCount": (36, 99, "placementScore"),
}
ALL = (*_EVERYWHERE, *_SOMEWHERE)


def points(minor: int) -> list[str]:
    return [point for point, since in POINTS.items() if since <= minor]


def plugins(minor: int, point: str) -> list[str]:
    """Those of a minor that (probably) extend the point."""
    there = _EVERYWHERE | {
        name: where for name, (first, last, where) in _SOMEWHERE.items() if first <= minor <= last
    }
    return [
        name for name, where in there.items() if point == "multiPoint" or point in where.split()
    ]
