"""The scheduler's lease: who holds it, and what to do about a holder that is dead.

What ends during a switch is buried on the node itself, by who saw it end (agent/65-canary.sh).
"""

from __future__ import annotations

import time

from kschedpatch.cluster.kubectl import ApiRefused, Kubectl
from kschedpatch.model.clusterplan import Object
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError

_LOOK = 0.5
_UNANSWERED = (ApiRefused, NodeError, VerbFailed, ValueError)


def leader(kubectl: Kubectl, lease: str) -> str:
    """The host whose scheduler holds it; empty when none does, and when nobody answers."""
    return _host(_read(kubectl, lease))


def empty_if_dead(kubectl: Kubectl, lease: str, host: str) -> bool:
    """A scheduler of this host may have died with the lease, and its peers would wait for it to
    expire. A live one renews it several times in half of its duration."""
    first = _read(kubectl, lease)
    if not host or _host(first) != host:
        return False
    spec = first["spec"]
    end = time.monotonic() + float(spec.get("leaseDurationSeconds") or 15) / 2
    while time.monotonic() < end:
        time.sleep(_LOOK)
        if (_read(kubectl, lease).get("spec") or {}).get("renewTime") != spec.get("renewTime"):
            return False
    # The resource version guards it: whoever took the lease meanwhile keeps it.
    first["spec"] = {**spec, "holderIdentity": "", "leaseDurationSeconds": 1}
    try:
        kubectl.replace(first)
    except _UNANSWERED:
        return False
    return True


def _read(kubectl: Kubectl, lease: str) -> Object:
    namespace, _, name = lease.partition("/")
    if not name:
        return {}
    try:
        return kubectl.get("lease", name, namespace) or {}
    except _UNANSWERED:
        return {}


def _host(lease: Object) -> str:
    """An identity is ``<host>_<uuid>``."""
    return str((lease.get("spec") or {}).get("holderIdentity") or "").rpartition("_")[0]
