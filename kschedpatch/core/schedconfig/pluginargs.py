"""Arguments of the scheduler's own plugins: defaults, and the rules that they must keep.

A rule gives the place within the arguments and what is wrong there. Most are looked at when the
configuration is read; those of NodeResourcesFit only when a profile builds the plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kschedpatch.core.schedconfig.nodeselector import affinity_problems
from kschedpatch.model.finding import Path
from kschedpatch.model.grammar import is_qualified_name

Problem = tuple[Path, str]
Args = Mapping[str, Any]

_SECOND = 10**9
_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")


class Setting(NamedTuple):
    version: str
    minor: int
    gates: frozenset[str]


def args_problems(plugin: str, args: Args, setting: Setting) -> Iterator[Problem]:
    rule = _RULES.get(plugin)
    if rule is not None:
        yield from rule(args, setting)


def _preemption(args: Args, _: Setting) -> Iterator[Problem]:
    percentage = args.get("minCandidateNodesPercentage", 10)
    absolute = args.get("minCandidateNodesAbsolute", 100)
    if not 0 <= percentage <= 100:
        yield ("minCandidateNodesPercentage",), f"{percentage} is not in 0…100"
    if absolute < 0:
        yield ("minCandidateNodesAbsolute",), f"{absolute} is negative"
    if percentage == 0 == absolute:
        for key in ("minCandidateNodesPercentage", "minCandidateNodesAbsolute"):
            yield (key,), "percentage and absolute number can't both be 0"


def _pod_affinity(args: Args, _: Setting) -> Iterator[Problem]:
    weight = args.get("hardPodAffinityWeight", 1)
    if not 0 <= weight <= 100:
        yield ("hardPodAffinityWeight",), f"{weight} is not in 0…100"


def _node_affinity(args: Args, _: Setting) -> Iterator[Problem]:
    for path, message in affinity_problems(args.get("addedAffinity") or {}):
        yield ("addedAffinity", *path), message


def _balanced(args: Args, _: Setting) -> Iterator[Problem]:
    seen = set()
    for at, resource in enumerate(args.get("resources") or ()):
        name, weight = resource.get("name", ""), resource.get("weight", 0)
        if name in seen:
            yield ("resources", at, "name"), f"{name} stands there twice"
        seen.add(name)
        if weight not in (0, 1):  # 0 becomes 1
            yield ("resources", at, "weight"), f"the weight must be 1, not {weight}"


def _spread(args: Args, setting: Setting) -> Iterator[Problem]:
    constraints = args.get("defaultConstraints") or ()
    kind = args.get("defaultingType") or _defaulting(setting, bool(constraints))
    if kind not in ("System", "List"):
        yield ("defaultingType",), f"{kind!r} is neither System nor List"
    elif kind == "System" and constraints:
        yield ("defaultingType",), "defaultConstraints go with `defaultingType: List` only"
    seen = set()
    for at, constraint in enumerate(constraints):
        yield from ((("defaultConstraints", at, *p), m) for p, m in _constraint(constraint))
        pair = (constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", ""))
        if pair in seen:
            yield ("defaultConstraints", at), f"{pair[0]} with {pair[1]} stands there twice"
        seen.add(pair)


def _defaulting(setting: Setting, listed: bool) -> str:
    if "DefaultPodTopologySpread" not in setting.gates:
        return "List"
    return "List" if setting.version == "v1beta1" and listed else "System"


def _constraint(constraint: Args) -> Iterator[Problem]:
    skew, key = constraint.get("maxSkew", 0), constraint.get("topologyKey", "")
    if skew <= 0:
        yield ("maxSkew",), f"maxSkew must be positive, this is {skew}"
    if not key:
        yield ("topologyKey",), "topologyKey is missing"
    elif not is_qualified_name(key):
        yield ("topologyKey",), f"{key!r} can't be a label's name"
    action = constraint.get("whenUnsatisfiable", "")
    if action not in ("DoNotSchedule", "ScheduleAnyway"):
        wanted = "DoNotSchedule or ScheduleAnyway is needed"
        yield ("whenUnsatisfiable",), f"{wanted}, this is {action!r}" if action else wanted
    if "labelSelector" in constraint:
        yield ("labelSelector",), "no selector here: it is taken from each pod"


def _volume_binding(args: Args, setting: Setting) -> Iterator[Problem]:
    seconds = args.get("bindTimeoutSeconds", 600)
    if seconds < 0:
        yield ("bindTimeoutSeconds",), f"{seconds} is negative"
    if setting.gates & {"VolumeCapacityPriority", "StorageCapacityScoring"}:
        if args.get("shape"):
            yield from shape_problems(args["shape"], ("shape",))
    elif "shape" in args:
        gate = "VolumeCapacityPriority" if setting.minor <= 32 else "StorageCapacityScoring"
        yield ("shape",), f"shape needs the feature gate {gate}"


def shape_problems(shape: list[Args], path: Path) -> Iterator[Problem]:
    if not shape:
        yield path, "at least one point is needed"
    for at, point in enumerate(shape):
        used, score = point.get("utilization", 0), point.get("score", 0)
        if at and shape[at - 1].get("utilization", 0) >= used:
            yield (*path, at, "utilization"), "the points must rise in utilization"
        if not 0 <= used <= 100:
            yield (*path, at, "utilization"), f"{used} is not in 0…100"
        if not 0 <= score <= 10:
            yield (*path, at, "score"), f"{score} is not in 0…10"


def _fit(args: Args, setting: Setting) -> Iterator[Problem]:
    for at, name in enumerate(args.get("ignoredResources") or ()):
        if not is_qualified_name(name):
            yield ("ignoredResources", at), f"{name!r} can't be a resource's name"
    for at, group in enumerate(args.get("ignoredResourceGroups") or ()):
        if "/" in group or not is_qualified_name(group):
            yield ("ignoredResourceGroups", at), f"{group!r} can't be a group (no / in it)"
    if "scoringStrategy" in args:
        for path, message in _strategy(args["scoringStrategy"], setting):
            yield ("scoringStrategy", *path), message


def _strategy(strategy: Args, setting: Setting) -> Iterator[Problem]:
    kind = strategy.get("type", "")
    if kind not in _STRATEGIES:
        yield ("type",), f"{kind!r} is none of {', '.join(_STRATEGIES)}"
    yield from weight_problems(strategy, 100)
    ratio, place = strategy.get("requestedToCapacityRatio"), "requestedToCapacityRatio"
    if kind == "RequestedToCapacityRatio" and ratio is None:
        yield (place,), f"{kind} needs its {place}.shape"
    elif kind != "RequestedToCapacityRatio" and ratio is not None and setting.minor >= 36:
        yield (place,), f"{place} goes with type RequestedToCapacityRatio only"
    elif ratio is not None and (ratio.get("shape") or setting.minor >= 23):
        yield from shape_problems(ratio.get("shape") or [], (place, "shape"))


def weight_problems(
    args: Args, highest: int | None, *, zero_is_one: bool = True
) -> Iterator[Problem]:
    for at, resource in enumerate(args.get("resources") or ()):
        weight = resource.get("weight", 0) or int(zero_is_one)
        if weight < 1 or (highest is not None and weight > highest):
            wanted = f"in 1…{highest}" if highest is not None else "positive"
            yield ("resources", at, "weight"), f"the weight must be {wanted}, not {weight}"


def _resources(args: Args, _: Setting) -> Iterator[Problem]:
    yield from weight_problems(args, 100, zero_is_one=False)


def _ratio(args: Args, _: Setting) -> Iterator[Problem]:
    yield from shape_problems(args.get("shape") or [], ("shape",))
    yield from weight_problems(args, None)


def _node_label(args: Args, _: Setting) -> Iterator[Problem]:
    for suffix in ("", "Preference"):
        absent = args.get(f"absentLabels{suffix}") or ()
        for at, label in enumerate(args.get(f"presentLabels{suffix}") or ()):
            if label in absent:
                yield (f"presentLabels{suffix}", at), f"{label} can't be present and absent"


def _dynamic(args: Args, setting: Setting) -> Iterator[Problem]:
    if "filterTimeout" in args:
        if "DRASchedulerFilterTimeout" not in setting.gates:
            yield ("filterTimeout",), "it needs the feature gate DRASchedulerFilterTimeout"
        elif args["filterTimeout"] < 0:
            yield ("filterTimeout",), "it can't be negative"
    if "bindingTimeout" in args:
        needed = {"DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"}
        if needed - setting.gates:
            missing = " and ".join(sorted(needed - setting.gates))
            yield ("bindingTimeout",), f"it needs the feature gate {missing}"
        elif args["bindingTimeout"] < _SECOND:
            yield ("bindingTimeout",), "it must be 1s or more"


_RULES: dict[str, Callable[[Args, Setting], Iterator[Problem]]] = {
    "DefaultPreemption": _preemption,
    "DynamicResources": _dynamic,
    "InterPodAffinity": _pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeLabel": _node_label,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "NodeResourcesLeastAllocated": _resources,
    "NodeResourcesMostAllocated": _resources,
    "PodTopologySpread": _spread,
    "RequestedToCapacityRatio": _ratio,
    "VolumeBinding": _volume_binding,
}
