"""Is an object ready? By what the API server says of it. What is not named here is at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kschedpatch.model.clusterplan import Object, Ref, ref_of


class Verdict(NamedTuple):
    ready: bool
    told: str = ""
    """What is missing."""
    failed: bool = False
    """It will not become ready by waiting."""


READY = Verdict(ready=True)


def waits(ref: Ref) -> bool:
    return (ref.group, ref.kind) in _RULES or _is_service(ref)


def may_change(ref: Ref) -> bool:
    """A Service that was just made may be shown with the endpoints of its predecessor. What else is
    ready stays so, or may go: a Job that is done."""
    return _is_service(ref)


def verdict(live: Object, slices: Iterable[Object] | None = None) -> Verdict:
    """``slices`` are EndpointSlices, for Services; None: not asked for yet."""
    ref = ref_of(live)
    if _is_service(ref):
        return _service(live, slices)
    rule = _RULES.get((ref.group, ref.kind))
    return rule(live) if rule is not None else READY


def needs_endpoints(body: Object) -> bool:
    spec = body.get("spec") or {}
    return (
        _is_service(ref_of(body))
        and bool(spec.get("selector"))
        and spec.get("type") != "ExternalName"
    )


def _is_service(ref: Ref) -> bool:
    return ref.kind == "Service" and not ref.group


def _service(live: Object, slices: Iterable[Object] | None) -> Verdict:
    if not needs_endpoints(live):
        return READY
    if slices is None:
        return Verdict(False, "its endpoints were not looked at yet")
    metadata = live["metadata"]
    for item in slices:
        about = item.get("metadata") or {}
        name = (about.get("labels") or {}).get("kubernetes.io/service-name")
        if name != metadata["name"] or about.get("namespace") != metadata.get("namespace"):
            continue
        for endpoint in item.get("endpoints") or ():
            # Left out means ready, by the API's own words.
            if (endpoint.get("conditions") or {}).get("ready") is not False:
                return READY
    return Verdict(False, "no ready pod is behind it")


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _condition(live: Object, kind: str) -> dict[str, Any]:
    for condition in (live.get("status") or {}).get("conditions") or ():
        if condition.get("type") == kind:
            return dict(condition)
    return {}


def _holds(live: Object, kind: str) -> bool:
    return _condition(live, kind).get("status") == "True"


def _words(condition: dict[str, Any]) -> str:
    parts = (str(condition.get("reason") or ""), str(condition.get("message") or ""))
    return ": ".join(part for part in parts if part)


def _unseen(live: Object) -> bool:
    """Its controller has not looked at this version yet: its status speaks of an older one."""
    observed = _number((live.get("status") or {}).get("observedGeneration"))
    return observed < _number((live.get("metadata") or {}).get("generation"))


_NOT_SEEN = Verdict(False, "its controller has not looked at it yet")


def _deployment(live: Object) -> Verdict:
    spec, status = live.get("spec") or {}, live.get("status") or {}
    if spec.get("paused"):
        return Verdict(False, "its roll-out is paused (spec.paused)", failed=True)
    if _unseen(live):
        return _NOT_SEEN
    progressing = _condition(live, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return Verdict(False, _words(progressing), failed=True)
    wanted = spec.get("replicas", 1)
    updated, available = (_number(status.get(f"{w}Replicas")) for w in ("updated", "available"))
    if updated < wanted:
        failure = _words(_condition(live, "ReplicaFailure"))
        more = f": {failure}" if failure else ""
        return Verdict(False, f"{updated} of {wanted} pods are of the new kind{more}")
    if _number(status.get("replicas")) > updated:
        return Verdict(False, "old pods are still there")
    if available < updated:
        return Verdict(False, f"{available} of {updated} pods are available")
    return READY


def _stateful_set(live: Object) -> Verdict:
    spec, status = live.get("spec") or {}, live.get("status") or {}
    if _unseen(live):
        return _NOT_SEEN
    wanted = spec.get("replicas", 1)
    strategy = spec.get("updateStrategy") or {}
    ready = _number(status.get("readyReplicas"))
    if ready < wanted:
        return Verdict(False, f"{ready} of {wanted} pods are ready")
    if strategy.get("type") == "OnDelete":
        return READY
    part = _number((strategy.get("rollingUpdate") or {}).get("partition"))
    updated = _number(status.get("updatedReplicas"))
    if status.get("currentRevision") != status.get("updateRevision") and updated < wanted - part:
        return Verdict(False, f"{updated} of {wanted - part} pods are of the new kind")
    return READY


def _daemon_set(live: Object) -> Verdict:
    spec, status = live.get("spec") or {}, live.get("status") or {}
    if _unseen(live):
        return _NOT_SEEN
    wanted = _number(status.get("desiredNumberScheduled"))
    updated, available = (
        _number(status.get(key)) for key in ("updatedNumberScheduled", "numberAvailable")
    )
    if (spec.get("updateStrategy") or {}).get("type") != "OnDelete" and updated < wanted:
        return Verdict(False, f"{updated} of {wanted} pods are of the new kind")
    if available < wanted:
        return Verdict(False, f"{available} of {wanted} pods are available")
    return READY


def _replica_set(live: Object) -> Verdict:
    if _unseen(live):
        return _NOT_SEEN
    wanted = (live.get("spec") or {}).get("replicas", 1)
    available = _number((live.get("status") or {}).get("availableReplicas"))
    if available < wanted:
        return Verdict(False, f"{available} of {wanted} pods are available")
    return READY


def _job(live: Object) -> Verdict:
    """Complete: what it prepares must be there before the switch."""
    if (live.get("spec") or {}).get("suspend") or _holds(live, "Complete"):
        return READY
    if _holds(live, "Failed"):
        return Verdict(False, _words(_condition(live, "Failed")) or "it failed", failed=True)
    active = _number((live.get("status") or {}).get("active"))
    return Verdict(False, f"not complete yet, {active} pods at work")


def _pod(live: Object) -> Verdict:
    phase = (live.get("status") or {}).get("phase")
    if phase == "Succeeded" or _holds(live, "Ready"):
        return READY
    if phase == "Failed":
        return Verdict(False, "it failed", failed=True)
    return Verdict(False, "not ready yet")


def _definition(live: Object) -> Verdict:
    if _holds(live, "Established"):
        return READY
    names = _condition(live, "NamesAccepted")
    if names.get("status") == "False":
        return Verdict(False, _words(names), failed=True)
    return Verdict(False, "not established yet")


def _api_service(live: Object) -> Verdict:
    if _holds(live, "Available"):
        return READY
    return Verdict(False, _words(_condition(live, "Available")) or "not available yet")


def _namespace(live: Object) -> Verdict:
    if (live.get("status") or {}).get("phase") == "Terminating":
        return Verdict(False, "it is being deleted", failed=True)
    return READY


_RULES: dict[tuple[str, str], Callable[[Object], Verdict]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "Namespace"): _namespace,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("apiregistration.k8s.io", "APIService"): _api_service,
}
