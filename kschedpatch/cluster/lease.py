"""The scheduler's lease: who holds it, and what to do about a holder that is dead."""

from __future__ import annotations

import time

from kschedpatch.cluster.kubectl import ApiRefused, Kubectl
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError

NAMESPACE, NAME = "kube-system", "kube-scheduler"
_SILENCE = 3.0


def leading_node(kubectl: Kubectl, lease: str) -> str:
    """The node whose scheduler holds it; empty when none does, and when nobody answers."""
    namespace, _, name = lease.partition("/")
    try:
        spec = (kubectl.get("lease", name, namespace) or {}).get("spec") or {}
    except (ApiRefused, NodeError, VerbFailed, ValueError):
        return ""
    return str(spec.get("holderIdentity") or "").rpartition("_")[0]


def empty_if_held_by(kubectl: Kubectl, dead: str) -> bool:
    """Now and then a scheduler dies without giving the lease back, and its peers wait for 15 s.

    The resource version guards it: whoever took the lease meanwhile keeps it.
    """
    if not dead:
        return False
    try:
        lease = kubectl.get("lease", NAME, NAMESPACE)
        if lease is None or (lease.get("spec") or {}).get("holderIdentity") != dead:
            return False
        lease["spec"]["holderIdentity"] = ""
        lease["spec"]["leaseDurationSeconds"] = 1
        kubectl.replace(lease)
    except (ApiRefused, NodeError, VerbFailed, ValueError):
        return False
    return True


def empty_if_dead(kubectl: Kubectl, node_name: str) -> bool:
    """The same for one that nobody saw leading: a live holder renews every 2 s."""
    first = _term(kubectl)
    if first is None or first[0].rpartition("_")[0] != node_name:
        return False
    time.sleep(_SILENCE)
    return _term(kubectl) == first and empty_if_held_by(kubectl, first[0])


def _term(kubectl: Kubectl) -> tuple[str, str] | None:
    """Holder and time of the last renewal."""
    try:
        lease = kubectl.get("lease", NAME, NAMESPACE)
    except (ApiRefused, NodeError, VerbFailed, ValueError):
        return None
    spec = (lease or {}).get("spec") or {}
    return str(spec.get("holderIdentity") or ""), str(spec.get("renewTime") or "")
