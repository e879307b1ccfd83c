"""Whether a node has room for what a new pod asks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kschedpatch.cluster.kubectl import Kubectl

if TYPE_CHECKING:
    from decimal import Decimal


class NoRoom(Exception):
    """The new pod asks for more than there is."""


def check(kubectl: Kubectl, node: str, more: Iterable[tuple[str, str]]) -> None:
    """``more`` is what the new pod asks for beyond the one that it replaces."""
    wanted = tuple(more)
    if not wanted:
        return
    from kschedpatch.core.podrequests import asked, free  # noqa: PLC0415  few ask for more

    body = kubectl.get("node", node) or {}
    there = (body.get("status") or {}).get("allocatable") or {}
    if not there:
        raise ValueError(f"the API server says nothing of what {node} has")
    pods = kubectl.pods_of(node)
    for name, text in wanted:
        amount, left = asked(text), free(there, pods, name)
        if amount > left:
            raise NoRoom(
                f"the new scheduler asks for {_shown(name, amount)} more than the live one, and "
                f"{_shown(name, max(left, asked(0)))} is free on {node}: the kubelet would evict "
                "other pods for it, or not take it"
            )


def _shown(name: str, amount: Decimal) -> str:
    return f"{amount / 2**20:.0f} MiB of {name}" if name != "cpu" else f"{amount} cpu"
