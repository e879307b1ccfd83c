"""Why an object does not become ready, in the words of its pods and events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kschedpatch.model.clusterplan import Object

_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job"})
_STARTING = frozenset({"ContainerCreating", "PodInitializing"})
_LONG = 300


def selector_of(body: Object) -> str:
    """The pods of a workload or Service, as kubectl is asked for them; empty: it has none."""
    spec = body.get("spec") or {}
    chosen = spec.get("selector") or {}
    if body.get("kind") == "Service":
        return _equal(chosen)
    if body.get("kind") not in _WORKLOADS:
        return ""
    parts = [_equal(chosen.get("matchLabels") or {})]
    for item in chosen.get("matchExpressions") or ():
        key, values = item.get("key"), ",".join(item.get("values") or ())
        word = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})"}
        word |= {"Exists": f"{key}", "DoesNotExist": f"!{key}"}
        parts.append(word.get(str(item.get("operator")), ""))
    return ",".join(part for part in parts if part)


def _equal(labels: dict[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in labels.items())


def pod_trouble(pod: Object) -> str:
    """Why this pod is not ready; empty where it is, or is on its way out."""
    metadata, status = pod.get("metadata") or {}, pod.get("status") or {}
    spec = pod.get("spec") or {}
    conditions = {c.get("type"): c for c in status.get("conditions") or ()}
    if metadata.get("deletionTimestamp") or status.get("phase") == "Succeeded":
        return ""
    if (conditions.get("Ready") or {}).get("status") == "True":
        return ""
    told = ""
    scheduled = conditions.get("PodScheduled") or {}
    if scheduled.get("status") == "False":
        told = f"not scheduled: {scheduled.get('message') or scheduled.get('reason')}"
    elif not spec.get("nodeName"):
        name = spec.get("schedulerName") or "default-scheduler"
        told = f"no scheduler has looked at it yet (its schedulerName is {name})"
    told = told or _containers(status) or "it runs, and is not ready"
    return f"pod {metadata.get('name')}: {told}"[:_LONG]


def _containers(status: dict[str, Any]) -> str:
    starting = False
    for part in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(part) or ():
            state = container.get("state") or {}
            waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
            last = (container.get("lastState") or {}).get("terminated") or {}
            reason = waiting.get("reason")
            if reason in _STARTING:
                starting = True
            elif reason:
                more = f": {waiting['message']}" if waiting.get("message") else ""
                code = f" (its last exit code was {last['exitCode']})" if "exitCode" in last else ""
                return f"{container.get('name')}: {reason}{code}{more}"
            elif ended.get("exitCode"):
                return f"{container.get('name')}: ended with exit code {ended['exitCode']}"
    return "its containers are being created" if starting else ""


def last_warnings(events: Iterable[Object], names: Sequence[str], most: int = 3) -> list[str]:
    """Of these objects, by name; the newest last, each reason once."""
    found: dict[str, tuple[str, str]] = {}
    for event in events:
        about = str((event.get("involvedObject") or {}).get("name") or "")
        if event.get("type") == "Normal" or about not in names:
            continue
        reason, message = str(event.get("reason")), str(event.get("message") or "")
        when = str(event.get("lastTimestamp") or event.get("eventTime") or "")
        if reason not in found or found[reason][0] <= when:
            found[reason] = (when, f"{reason}: {' '.join(message.split())}"[:_LONG])
    return [text for _, text in sorted(found.values())][-most:]
