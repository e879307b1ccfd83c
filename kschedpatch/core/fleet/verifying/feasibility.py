"""Which nodes a pod fits on, by the basics: taints, selector, affinity, extended resources.

Enough to say why a score plugin is not asked; the scheduler itself knows better in the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from kschedpatch.core.manifest.quantity import quantity
from kschedpatch.model.probing import ClusterNode

_UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_KEEPS_AWAY = frozenset({"NoSchedule", "NoExecute"})


class Feasible(NamedTuple):
    names: tuple[str, ...]
    away: tuple[tuple[str, tuple[str, ...]], ...]
    """Why others are not, and which: ``taint KEY:EFFECT``, ``nodeSelector``, …"""


def feasible_nodes(pod: Mapping[str, Any], nodes: Sequence[ClusterNode]) -> Feasible:
    names = []
    away: dict[str, list[str]] = {}
    for node in nodes:
        reason = next(_reasons(pod.get("spec") or {}, node), None)
        if reason is None:
            names.append(node.name)
        else:
            away.setdefault(reason, []).append(node.name)
    return Feasible(tuple(names), tuple((why, tuple(who)) for why, who in away.items()))


def _reasons(spec: Mapping[str, Any], node: ClusterNode) -> Iterator[str]:
    taints = [*node.taints, *([_UNSCHEDULABLE] if node.unschedulable else [])]
    tolerations = [item for item in spec.get("tolerations") or () if isinstance(item, dict)]
    for taint in taints:
        if taint.get("effect") in _KEEPS_AWAY and not any(
            _tolerates(t, taint) for t in tolerations
        ):
            value = f"={taint['value']}" if taint.get("value") else ""
            yield f"taint {taint.get('key')}{value}:{taint.get('effect')}"
    selector = spec.get("nodeSelector") or {}
    if not all(node.labels.get(key) == value for key, value in selector.items()):
        yield "nodeSelector"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if isinstance(required, dict):
        terms = [term for term in required.get("nodeSelectorTerms") or () if isinstance(term, dict)]
        if not any(_term_fits(term, node) for term in terms):
            yield "node affinity"
    for name, amount in _extended(spec).items():
        if (quantity(node.allocatable.get(name)) or Decimal(0)) < amount:
            yield f"no {name}"


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint.get("key"))
    return toleration.get("key") == taint.get("key") and (toleration.get("value") or "") == (
        taint.get("value") or ""
    )


def _term_fits(term: Mapping[str, Any], node: ClusterNode) -> bool:
    expressions = [(node.labels, item) for item in term.get("matchExpressions") or ()]
    expressions += [({"metadata.name": node.name}, item) for item in term.get("matchFields") or ()]
    return bool(expressions) and all(_matches(labels, item) for labels, item in expressions)


def _matches(labels: Mapping[str, str], item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    value = labels.get(str(item.get("key")))
    values = [str(one) for one in item.get("values") or ()]
    match item.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compared(value, values, operator)
    return False


def _compared(value: str | None, values: Sequence[str], operator: str) -> bool:
    try:
        one, other = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return one > other if operator == "Gt" else one < other


def _extended(spec: Mapping[str, Any]) -> dict[str, Decimal]:
    """What is asked for under vendors' names; the node must have as much of it."""
    total: dict[str, Decimal] = {}
    for container in spec.get("containers") or ():
        resources = (container.get("resources") or {}) if isinstance(container, dict) else {}
        asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for name, amount in asked.items():
            if "/" in name:
                total[name] = total.get(name, Decimal(0)) + (quantity(amount) or Decimal(0))
    return total
