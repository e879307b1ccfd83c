"""What is free on a node, by what its pods ask for: as its kubelet reckons when it admits one."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from kschedpatch.cluster.kubectl import Kubectl
from kschedpatch.core.manifest.quantity import quantity
from kschedpatch.model.clusterplan import Object

_OVER = ("Succeeded", "Failed")


class NoRoom(Exception):
    """The new pod asks for more than there is."""


def check(kubectl: Kubectl, node: str, more: Iterable[tuple[str, str]]) -> None:
    """``more`` is what the new pod asks for beyond the one that it replaces."""
    wanted = {name: quantity(amount) or Decimal(0) for name, amount in more}
    if not wanted:
        return
    body = kubectl.get("node", node) or {}
    there = (body.get("status") or {}).get("allocatable") or {}
    if not there:
        raise ValueError(f"the API server says nothing of what {node} has")
    pods = kubectl.pods_of(node)
    for name, amount in wanted.items():
        free = (quantity(there.get(name)) or Decimal(0)) - sum(asked_for(p, name) for p in pods)
        if amount > free:
            raise NoRoom(
                f"the new scheduler asks for {_shown(name, amount)} more than the live one, and "
                f"{_shown(name, max(free, Decimal(0)))} is free on {node}: the kubelet would evict "
                "other pods for it, or not take it"
            )


def _shown(name: str, amount: Decimal) -> str:
    return f"{amount / 2**20:.0f} MiB of {name}" if name != "cpu" else f"{amount} cpu"


def asked_for(pod: Object, name: str) -> Decimal:
    """What one pod asks for: its containers together, or the largest of those before them."""
    if (pod.get("status") or {}).get("phase") in _OVER:
        return Decimal(0)
    spec = pod.get("spec") or {}
    together = sum((_request(c, name) for c in spec.get("containers") or ()), Decimal(0))
    before = max((_request(c, name) for c in spec.get("initContainers") or ()), default=Decimal(0))
    return max(together, before) + (quantity((spec.get("overhead") or {}).get(name)) or Decimal(0))


def _request(container: dict[str, Any], name: str) -> Decimal:
    requests = (container.get("resources") or {}).get("requests") or {}
    return quantity(requests.get(name)) or Decimal(0)
