"""What pods ask of a node, and what is free there: as its kubelet reckons when it admits one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from kschedpatch.core.manifest.quantity import quantity
from kschedpatch.model.clusterplan import Object

_OVER = ("Succeeded", "Failed")


def asked(amount: Any) -> Decimal:
    """What is no quantity asks for nothing."""
    return quantity(amount) or Decimal(0)


def free(allocatable: Mapping[str, Any], pods: Iterable[Object], name: str) -> Decimal:
    """Below zero where more is asked for than there is."""
    return asked(allocatable.get(name)) - sum(_asked_by(pod, name) for pod in pods)


def _asked_by(pod: Object, name: str) -> Decimal:
    """Its containers together, or the largest of those before them."""
    if (pod.get("status") or {}).get("phase") in _OVER:
        return Decimal(0)
    spec = pod.get("spec") or {}
    together = sum((_request(c, name) for c in spec.get("containers") or ()), Decimal(0))
    before = max((_request(c, name) for c in spec.get("initContainers") or ()), default=Decimal(0))
    return max(together, before) + asked((spec.get("overhead") or {}).get(name))


def _request(container: dict[str, Any], name: str) -> Decimal:
    return asked(((container.get("resources") or {}).get("requests") or {}).get(name))
