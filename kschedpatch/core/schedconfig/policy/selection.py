"""What a Policy comes to in 1.22: plugins that filter, plugins that score, and their arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

from kschedpatch.core.schedconfig.policy import names
from kschedpatch.core.schedconfig.policy.names import (
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    EQUAL_PRIORITY,
    MANDATORY_PREDICATES,
    PREDICATES,
    PRIORITIES,
)
from kschedpatch.model.finding import Path


class Selection(NamedTuple):
    filters: tuple[str, ...]
    """In the order in which they run."""
    scores: dict[str, int]
    args: dict[str, dict[str, Any]]
    asked: dict[tuple[str, str], Path]
    """(filter or score, plugin) → where the Policy asks for it; what it has by default or by
    force is not here."""


_INT32 = 2**32


def select(policy: dict[str, Any]) -> Selection:
    """Names that 1.22 does not know count for nothing here; they are errors elsewhere."""
    asked: dict[tuple[str, str], Path] = {}
    labels: dict[str, list[str]] = {}
    services: dict[str, list[str]] = {}
    filters = _filters(policy, asked, labels, services)
    scores, args = _scores(policy, asked, labels, services)
    if labels:
        args["NodeLabel"] = labels
    if services:
        args["ServiceAffinity"] = services
    return Selection(filters, scores, args, asked)


def predicate_of(item: dict[str, Any]) -> str | None:
    """The table's name for a predicate. A name that is in the table makes its argument void."""
    argument = item.get("argument") or {}
    known = names.predicate(item.get("name", ""))
    if known is not None:
        return known
    if "labelsPresence" in argument:
        return "CheckNodeLabelPresence"
    return "CheckServiceAffinity" if "serviceAffinity" in argument else None


def priority_of(item: dict[str, Any]) -> str | None:
    argument = item.get("argument") or {}
    known = names.priority(item.get("name", ""))
    if known is not None:
        return known
    if "requestedToCapacityRatioArguments" in argument:
        return "RequestedToCapacityRatio"
    if "labelPreference" in argument:
        return "NodeLabel"
    return "ServiceAffinity" if "serviceAntiAffinity" in argument else None


def _filters(
    policy: dict[str, Any],
    asked: dict[tuple[str, str], Path],
    labels: dict[str, list[str]],
    services: dict[str, list[str]],
) -> tuple[str, ...]:
    chosen = set(MANDATORY_PREDICATES)
    if policy.get("predicates") is None:
        chosen |= set(DEFAULT_PREDICATES)
    for index, item in enumerate(policy.get("predicates") or ()):
        name = predicate_of(item)
        if name is None:
            continue
        chosen.add(name)
        for plugin in PREDICATES[name]:
            asked.setdefault(("filter", plugin), ("predicates", index, "name"))
        argument = {} if names.predicate(item.get("name", "")) else item.get("argument") or {}
        if "labelsPresence" in argument:
            presence = argument["labelsPresence"]
            key = "presentLabels" if presence.get("presence") else "absentLabels"
            labels.setdefault(key, []).extend(presence.get("labels", ()))
        elif "serviceAffinity" in argument:
            wanted = argument["serviceAffinity"].get("labels", ())
            services.setdefault("affinityLabels", []).extend(wanted)
    plugins = [plugin for name, used in PREDICATES.items() if name in chosen for plugin in used]
    return tuple(dict.fromkeys(plugins))


def _scores(
    policy: dict[str, Any],
    asked: dict[tuple[str, str], Path],
    labels: dict[str, list[str]],
    services: dict[str, list[str]],
) -> tuple[dict[str, int], dict[str, dict[str, Any]]]:
    args: dict[str, dict[str, Any]] = {}
    weights = dict(DEFAULT_PRIORITIES) if policy.get("priorities") is None else {}
    for index, item in enumerate(policy.get("priorities") or ()):
        name = priority_of(item)
        if item.get("name") == EQUAL_PRIORITY or name is None:
            continue
        weights[name] = item.get("weight", 0)
        asked.setdefault(("score", PRIORITIES[name]), ("priorities", index, "name"))
        argument = {} if names.priority(item.get("name", "")) else item.get("argument") or {}
        if "requestedToCapacityRatioArguments" in argument:
            args["RequestedToCapacityRatio"] = argument["requestedToCapacityRatioArguments"]
        elif "labelPreference" in argument:
            preference = argument["labelPreference"]
            given = "presentLabels" if preference.get("presence") else "absentLabels"
            labels.setdefault(f"{given}Preference", []).append(preference.get("label", ""))
        elif "serviceAntiAffinity" in argument:
            label = argument["serviceAntiAffinity"].get("label", "")
            services.setdefault("antiAffinityLabelsPreference", []).append(label)
    # One plugin for n preferences: it gives their average, so it counts n times.
    counts = {
        "NodeLabel": sum(len(v) for k, v in labels.items() if k.endswith("Preference")),
        "ServiceAffinity": len(services.get("antiAffinityLabelsPreference", ())),
    }
    scores: dict[str, int] = {}
    for name in sorted(weights):  # the first of two that share a plugin gives the weight
        weight = _int32(_int32(weights[name]) * counts.get(name, 1))
        scores.setdefault(PRIORITIES[name], weight or 1)
    if "PodTopologySpread" in scores:
        # SelectorSpreadPriority has become the default constraints of this plugin.
        spread = "System" if "SelectorSpreadPriority" in weights else "List"
        args["PodTopologySpread"] = {"defaultingType": spread}
    hard = policy.get("hardPodAffinitySymmetricWeight", 0)
    if hard and "InterPodAffinity" in scores:
        args["InterPodAffinity"] = {"hardPodAffinityWeight": hard}
    return scores, args


def _int32(number: int) -> int:
    """Cut to 32 bits, as Go's conversion does."""
    low = number % _INT32
    return low - _INT32 if low >= _INT32 // 2 else low
