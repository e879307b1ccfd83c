"""Plugins that a minor no longer has, and what says the same there, if anything does."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kschedpatch.core.schedconfig.conversion.roles import Roles

#: The plugins that NodeResourcesFit has absorbed → its scoring strategy.
STRATEGIES = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
#: One plugin a cloud, all of them absorbed by NodeVolumeLimits.
CLOUD_LIMITS = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
_MAX_RESOURCE_WEIGHT = 100

_INSTEAD = {
    "NodePreferAvoidPods": "a PreferNoSchedule taint on the nodes to be avoided comes near",
    "ServiceAffinity": "pod affinity in the pods themselves comes near",
    "SelectorSpread": "PodTopologySpread with its default constraints comes near",
    "NodeLabel": "preferred terms in NodeAffinity's addedAffinity come near",
}


class Loss(NamedTuple):
    """What the target can't say."""

    role: str
    plugin: str
    message: str
    hint: str = ""

    @property
    def was_default(self) -> bool:
        """On in v1beta1 and in a Policy without priorities, for whoever asked for nothing."""
        return self.plugin == "NodePreferAvoidPods"


class Succession(NamedTuple):
    roles: Roles
    args: dict[str, Any]
    """Arguments that successors need, by plugin; None takes a plugin's entry away."""
    losses: tuple[Loss, ...]


def succeed(roles: Roles, args: dict[str, Any], stock: frozenset[str]) -> Succession:
    """``roles`` in plugins that the target has. ``args`` are the arguments by plugin, as given."""
    new: Roles = {role: dict(plugins) for role, plugins in roles.items()}
    given: dict[str, Any] = {}
    losses: list[Loss] = []
    _resources(new, args, given, losses, stock)
    _labels(new, args, given, losses, stock)
    for plugin in CLOUD_LIMITS:
        # Volumes of every cloud are CSI volumes by then, and NodeVolumeLimits counts these.
        if plugin not in stock and new["filter"].pop(plugin, None) is not None:
            new["filter"].setdefault("NodeVolumeLimits", 0)
    for role, plugins in new.items():
        for plugin in [name for name in plugins if name in _INSTEAD and name not in stock]:
            del plugins[plugin]
            losses.append(Loss(role, plugin, f"nothing does what {plugin} did", _INSTEAD[plugin]))
    for plugin in (*STRATEGIES, *_INSTEAD):
        if plugin in args and plugin not in stock:
            given.setdefault(plugin, None)
    return Succession(new, given, tuple(losses))


def _resources(
    new: Roles, args: dict[str, Any], given: dict[str, Any], losses: list[Loss],
    stock: frozenset[str],
) -> None:  # fmt: skip
    old = {name: weight for name, weight in new["score"].items() if name in STRATEGIES}
    if not old or old.keys() <= stock:
        return
    for name in old:
        del new["score"][name]
    # One plugin, one strategy: the heaviest stays.
    first, *others = sorted(old, key=lambda name: -old[name])
    for name in others:
        message = f"{name} beside {first}: NodeResourcesFit scores by one strategy only"
        losses.append(Loss("score", name, message, "profiles of their own can have one each"))
    arguments = args.get(first) or {}
    strategy: dict[str, Any] = {"type": STRATEGIES[first]}
    resources = _scaled(arguments.get("resources") or [])
    if resources is None:
        message = f"{first} weighs resources beyond 100 to 1"
        losses.append(Loss("score", first, message, "NodeResourcesFit takes weights from 1 to 100"))
    elif resources:
        strategy["resources"] = resources
    if first == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": arguments.get("shape") or []}
    new["score"]["NodeResourcesFit"] = old[first]
    fit = dict(args.get("NodeResourcesFit") or {})
    fit.pop("scoringStrategy", None)  # it had no effect beside another plugin
    if strategy != {"type": "LeastAllocated"}:
        fit["scoringStrategy"] = strategy
    if fit or "NodeResourcesFit" in args:
        given["NodeResourcesFit"] = fit


def _scaled(resources: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Weights within NodeResourcesFit's bounds, in the same proportion; None where that fails."""
    weights = [item.get("weight") or 1 for item in resources]
    if max(weights, default=0) <= _MAX_RESOURCE_WEIGHT:
        return resources
    divisor = math.gcd(*weights)
    if max(weights) // divisor > _MAX_RESOURCE_WEIGHT:
        return None
    return [{**item, "weight": weight // divisor}
            for item, weight in zip(resources, weights, strict=True)]  # fmt: skip


def _labels(
    new: Roles, args: dict[str, Any], given: dict[str, Any], losses: list[Loss],
    stock: frozenset[str],
) -> None:  # fmt: skip
    """NodeLabel's filter is NodeAffinity with terms that every pod gets added."""
    if "NodeLabel" in stock or "NodeLabel" not in new["filter"]:
        return
    del new["filter"]["NodeLabel"]
    arguments = args.get("NodeLabel") or {}
    expressions = [
        {"key": label, "operator": operator}
        for key, operator in (("presentLabels", "Exists"), ("absentLabels", "DoesNotExist"))
        for label in arguments.get(key) or ()
    ]
    if not expressions:
        return
    affinity = dict(args.get("NodeAffinity") or {})
    if "NodeAffinity" not in new["filter"] or affinity.get("addedAffinity"):
        message = "NodeLabel can become added terms of NodeAffinity, which "
        message += "has some already" if affinity.get("addedAffinity") else "does not filter here"
        losses.append(Loss("filter", "NodeLabel", message, "MatchNodeSelector makes it filter"))
        return
    term = {"matchExpressions": expressions}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    given["NodeAffinity"] = {**affinity, "addedAffinity": required}
