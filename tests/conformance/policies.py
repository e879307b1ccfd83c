"""Policies, which the scheduler reads up to 1.22: right, or broken in a place or two."""

from __future__ import annotations

from hypothesis import strategies as st

from .arguments import Trees, fields, listed, shape, weighed_resources
from .breaks import broken
from .configurations import Case, managed_resources, tls_settings
from .oddtext import odd_text
from .scalars import BOOLEANS, LABEL_KEYS, number, one_of
from .sharing import shared
from .tree import Map, Token, Tree, as_json, mapping, written

_PREDICATES = (
    "GeneralPredicates", "HostName", "PodFitsHostPorts", "MatchNodeSelector", "PodFitsResources",
    "NoDiskConflict", "PodToleratesNodeTaints", "CheckNodeUnschedulable", "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount", "MaxAzureDiskVolumeCount", "MaxCinderVolumeCount",
    "MaxCSIVolumeCountPred",
    "NoVolumeZoneConflict", "CheckVolumeBinding", "EvenPodsSpread", "MatchInterPodAffinity",
    "PodFitsPorts",
    "CheckNodeLabelPresence", "CheckServiceAffinity",
)  # fmt: skip
_PRIORITIES = (
    "EqualPriority", "MostRequestedPriority", "SelectorSpreadPriority", "ServiceSpreadingPriority",
    "InterPodAffinityPriority", "LeastRequestedPriority", "BalancedResourceAllocation",
    "NodePreferAvoidPodsPriority", "NodeAffinityPriority", "TaintTolerationPriority",
    "ImageLocalityPriority", "EvenPodsSpreadPriority", "RequestedToCapacityRatioPriority",
)  # fmt: skip
#: In circulation, and refused by 1.22.
_MISTAKEN = (
    "PodFitsHost", "PodSelectorMatches", "MaxCSIVolumeCount", "PodAffinityPredicate",
    "CheckNodeDiskPressure", "CheckNodeMemoryPressure", "NodeMemoryPressurePredicate",
    "CheckNodeCondition", "CheckNodeConditionPred", "CheckNodePIDPressurePred", "generalPredicates",
    "NodeLabelPriority", "ResourceLimitsPriority", "SelectorSpreadingPriority", "", "'*'",
    "NodeAffinity",
)  # fmt: skip


def _names(known: tuple[str, ...]) -> Trees:
    return one_of(*known) | one_of(*known) | one_of(*known) | one_of(*_MISTAKEN)


_LABELS: Trees = listed(LABEL_KEYS, 1, 2)
_PREDICATE_ARGUMENT: Trees = fields(
    {"labelsPresence": fields({"labels": _LABELS}, {"presence": BOOLEANS})}, {}
) | fields({"serviceAffinity": fields({"labels": _LABELS}, {})}, {})
_PRIORITY_ARGUMENT: Trees = (
    fields({"serviceAntiAffinity": fields({"label": LABEL_KEYS}, {})}, {})
    | fields({"labelPreference": fields({"label": LABEL_KEYS}, {"presence": BOOLEANS})}, {})
    | fields(
        {
            "requestedToCapacityRatioArguments": fields(
                {"shape": shape()}, {"resources": weighed_resources()}
            )
        },
        {},
    )
)
_PREDICATE: Trees = fields({"name": _names(_PREDICATES)}, {}) | fields(
    {"name": one_of("Mine", "Zones", "CheckNodeLabelPresence", "PodFitsResources")},
    {"argument": _PREDICATE_ARGUMENT},
)
_PRIORITY: Trees = fields({"name": _names(_PRIORITIES), "weight": number(1, 100)}, {}) | fields(
    {
        "name": one_of("Mine", "Racks", "RequestedToCapacityRatioPriority", "NodeAffinityPriority"),
        "weight": number(1, 10),
    },
    {"argument": _PRIORITY_ARGUMENT},
)
_EXTENDER: Trees = fields(
    {},
    {
        "urlPrefix": one_of("http://gpu-admission.kube-system:3456/scheduler", '""'),
        "filterVerb": one_of("filter", "predicates", '""'),
        "preemptVerb": one_of("preempt", '""'),
        "prioritizeVerb": one_of("prioritize", '""'),
        "weight": number(0, 10),
        "bindVerb": one_of("bind", '""', '""'),
        "enableHttps": BOOLEANS,
        "tlsConfig": tls_settings(),
        # Nanoseconds there, not a duration.
        "httpTimeout": one_of("100000000", "5000000000", "0", "30s"),
        "nodeCacheCapable": BOOLEANS,
        "managedResources": managed_resources(),
        "ignorable": BOOLEANS,
    },
)


@st.composite
def trees(draw: st.DrawFn) -> Map:
    version = draw(st.sampled_from(["v1", "v1", "v1", "kubescheduler.config.k8s.io/v1"]))
    found: dict[str, Tree] = {"kind": Token("Policy"), "apiVersion": Token(version)}
    optional: dict[str, Trees] = {
        "predicates": listed(_PREDICATE, 0, 4),
        "priorities": listed(_PRIORITY, 0, 4),
        "extenders": listed(_EXTENDER, 0, 2),
        "hardPodAffinitySymmetricWeight": number(-1, 101),
        "alwaysCheckAllPredicates": BOOLEANS,
    }
    return mapping(found | draw(st.fixed_dictionaries({}, optional=optional)))


@st.composite
def policies(draw: st.DrawFn) -> Case:
    tree: Tree = draw(trees())
    is_shared = not draw(st.integers(0, 4))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1] if is_shared else [0, 0, 0, 1, 1, 1, 2]))):
        tree = draw(broken(tree))
    if is_shared:
        tree = draw(shared(tree))
    # Most in circulation are JSON.
    text = as_json(tree) if draw(st.booleans()) else written(tree, draw(st.sampled_from([2, 99])))
    if not draw(st.integers(0, 9)):
        return Case(draw(odd_text(text)))
    return Case(text.encode(errors="surrogatepass"), (), tree)
