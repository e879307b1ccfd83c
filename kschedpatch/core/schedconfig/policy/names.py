"""The names that a Policy may use, and what each of them stands for.

The table is that of the last scheduler that reads a Policy, 1.22
(pkg/scheduler/framework/plugins/legacy_registry.go).
"""

from __future__ import annotations

from difflib import get_close_matches

#: Predicate → the plugins that filter for it. In the order in which they run.
PREDICATES: dict[str, tuple[str, ...]] = {
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodFitsResources": ("NodeResourcesFit",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    "CheckNodeLabelPresence": ("NodeLabel",),
    "CheckServiceAffinity": ("ServiceAffinity",),
    "MaxEBSVolumeCount": ("EBSLimits",),
    "MaxGCEPDVolumeCount": ("GCEPDLimits",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("AzureDiskLimits",),
    "MaxCinderVolumeCount": ("CinderLimits",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "EvenPodsSpread": ("PodTopologySpread",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
}
#: On in every Policy, named or not.
MANDATORY_PREDICATES = ("CheckNodeUnschedulable", "PodToleratesNodeTaints")
#: What a Policy without ``predicates`` has. An empty list is not the same: it means none.
DEFAULT_PREDICATES = (
    "CheckNodeUnschedulable", "GeneralPredicates", "NoDiskConflict", "PodToleratesNodeTaints",
    "MaxEBSVolumeCount", "MaxGCEPDVolumeCount", "MaxCSIVolumeCountPred", "MaxAzureDiskVolumeCount",
    "CheckVolumeBinding", "NoVolumeZoneConflict", "EvenPodsSpread", "MatchInterPodAffinity",
)  # fmt: skip

#: Priority → the plugin that scores for it.
PRIORITIES: dict[str, str] = {
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "EvenPodsSpreadPriority": "PodTopologySpread",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesLeastAllocated",
    "MostRequestedPriority": "NodeResourcesMostAllocated",
    "NodeAffinityPriority": "NodeAffinity",
    "NodeLabel": "NodeLabel",
    "NodePreferAvoidPodsPriority": "NodePreferAvoidPods",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
    "SelectorSpreadPriority": "PodTopologySpread",
    "ServiceAffinity": "ServiceAffinity",
    "TaintTolerationPriority": "TaintToleration",
}
#: A Policy without ``priorities`` has these.
DEFAULT_PRIORITIES: dict[str, int] = {
    "BalancedResourceAllocation": 1, "EvenPodsSpreadPriority": 2, "ImageLocalityPriority": 1,
    "InterPodAffinityPriority": 1, "LeastRequestedPriority": 1, "NodeAffinityPriority": 1,
    "NodePreferAvoidPodsPriority": 10000, "SelectorSpreadPriority": 1, "TaintTolerationPriority": 1,
}  # fmt: skip

#: What only an argument defines → that argument. It is looked at under a name of one's own alone.
NEED_ARGUMENT = {
    "CheckNodeLabelPresence": "labelsPresence",
    "CheckServiceAffinity": "serviceAffinity",
    "NodeLabel": "labelPreference",
    "ServiceAffinity": "serviceAntiAffinity",
    "RequestedToCapacityRatio": "requestedToCapacityRatioArguments",
}

#: Read and left out: it gives every node the same.
EQUAL_PRIORITY = "EqualPriority"
# Old names that 1.22 still takes.
_PREDICATE_ALIASES = {"PodFitsPorts": "PodFitsHostPorts"}
_PRIORITY_ALIASES = {"ServiceSpreadingPriority": "SelectorSpreadPriority"}

# Names in circulation that 1.22 refuses: what is meant, or why nothing is needed.
_TAINTS = "leave it out: the node's taints say it, and PodToleratesNodeTaints is always on"
_MEANT = {
    "PodFitsHost": "HostName",
    "PodSelectorMatches": "MatchNodeSelector",
    "MaxCSIVolumeCount": "MaxCSIVolumeCountPred",
    "PodAffinityPredicate": "MatchInterPodAffinity",
    "CheckNodeUnschedulablePredicate": "CheckNodeUnschedulable",
    "CheckNodeUnschedulablePred": "CheckNodeUnschedulable",
    "CheckVolumeBindingPred": "CheckVolumeBinding",
    "EvenPodsSpreadPred": "EvenPodsSpread",
    "GeneralPred": "GeneralPredicates",
    "HostNamePred": "HostName",
    "MatchInterPodAffinityPred": "MatchInterPodAffinity",
    "MatchNodeSelectorPred": "MatchNodeSelector",
    "NoDiskConflictPred": "NoDiskConflict",
    "NoVolumeZoneConflictPred": "NoVolumeZoneConflict",
    "NoVolumeNodeConflict": "CheckVolumeBinding",
    "NoVolumeNodeConflictPred": "CheckVolumeBinding",
    "NoVolumeBindConflict": "CheckVolumeBinding",
    "PodFitsHostPortsPred": "PodFitsHostPorts",
    "PodFitsResourcesPred": "PodFitsResources",
    "PodToleratesNodeTaintsPred": "PodToleratesNodeTaints",
    "TaintToleration": "PodToleratesNodeTaints",
    "BalancedResourceAllocationPriority": "BalancedResourceAllocation",
    "SelectorSpreading": "SelectorSpreadPriority",
    "LeastResourceAllocation": "LeastRequestedPriority",
    "MostResourceAllocation": "MostRequestedPriority",
}
_COVERED_BY_TAINTS = frozenset(
    f"{name}{ending}"
    for name in ("CheckNodeCondition", "CheckNodeDiskPressure", "CheckNodeMemoryPressure",
                 "CheckNodePIDPressure", "NodeMemoryPressure", "NodeDiskPressure")
    for ending in ("", "Pred", "Predicate")
)  # fmt: skip


def predicate(name: str) -> str | None:
    """The predicate that a name stands for, if 1.22 registers one."""
    name = _PREDICATE_ALIASES.get(name, name)
    return name if name in PREDICATES else None


def priority(name: str) -> str | None:
    """The priority that a name stands for, if 1.22 registers one."""
    name = _PRIORITY_ALIASES.get(name, name)
    return name if name in PRIORITIES else None


def is_covered_by_taints(name: str) -> bool:
    """A predicate of old on the node's conditions, which are taints since 1.17."""
    return name in _COVERED_BY_TAINTS


def meant_by(name: str, kind: str) -> str | None:
    """The name in the table that a wrong one stands for; ``kind`` is predicates or priorities."""
    table = PREDICATES if kind == "predicates" else PRIORITIES
    meant = _MEANT.get(name)
    if meant in table:
        return meant
    folded = {known.lower(): known for known in table}
    if name.lower() in folded:
        return folded[name.lower()]
    near = get_close_matches(name[:60], table, n=1, cutoff=0.75)
    return near[0] if near else None


def advice(name: str, kind: str) -> str:
    """What somebody who wrote a name that 1.22 refuses should do."""
    if is_covered_by_taints(name):
        return _TAINTS
    if name == "RequestedToCapacityRatioPriority":
        return "it needs its argument: requestedToCapacityRatioArguments with a shape"
    meant = meant_by(name, kind)
    if meant is not None:
        return f"did you mean {meant}?"
    return "a name of your own needs an argument that says what it does"
