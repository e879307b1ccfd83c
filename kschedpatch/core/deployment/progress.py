"""How a Deployment's new pods get on: which they are, and the signs that they never will."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kschedpatch.core.objects.troubles import pod_trouble
from kschedpatch.model.clusterplan import Object
from kschedpatch.model.rollout import FailureReason

#: Of a host's name, which a pod's becomes.
_HOST_NAME = 63
_REVISION = "deployment.kubernetes.io/revision"
_HASH = "pod-template-hash"
# The kubelet has tried more than once by then.
_NO_IMAGE = frozenset({"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_NO_START = frozenset({"CrashLoopBackOff", "CreateContainerConfigError", "RunContainerError"})
_COMING = frozenset({"ContainerCreating", "PodInitializing", "ErrImagePull"})


class Sign(NamedTuple):
    reason: FailureReason
    told: str
    pod: str
    container: str = ""


def new_pods(
    deployment: Object, replica_sets: Iterable[Object], pods: Iterable[Object]
) -> tuple[Object, ...]:
    """Those of the newest ReplicaSet; the others are of former revisions."""
    uid = deployment["metadata"].get("uid")
    owned = [
        item
        for item in replica_sets
        if any(o.get("uid") == uid for o in item["metadata"].get("ownerReferences") or ())
    ]
    newest = max(owned, key=_revision, default=None)
    wanted = (newest or {"metadata": {}})["metadata"].get("labels", {}).get(_HASH)
    return tuple(
        pod for pod in pods if wanted and (pod["metadata"].get("labels") or {}).get(_HASH) == wanted
    )


def _revision(replica_set: Object) -> int:
    text = str((replica_set["metadata"].get("annotations") or {}).get(_REVISION, "0"))
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def fatal_sign(pods: Iterable[Object]) -> Sign | None:
    """Why waiting is in vain, where one of the new pods shows it."""
    for pod in pods:
        name = str(pod["metadata"]["name"])
        status = pod.get("status") or {}
        if status.get("phase") == "Failed":
            return Sign(FailureReason.DENIED, pod_trouble(pod), name)
        for container in status.get("containerStatuses") or ():
            reason = ((container.get("state") or {}).get("waiting") or {}).get("reason")
            ended = (container.get("lastState") or {}).get("terminated") or {}
            crashed = container.get("restartCount", 0) > 0 and ended.get("exitCode", 0) != 0
            inside = str(container.get("name") or "")
            if reason in _NO_IMAGE:
                return Sign(FailureReason.IMAGE, pod_trouble(pod), name)
            if reason in _NO_START or crashed:
                told = pod_trouble(pod) or f"pod {name}: {inside} has crashed and runs again"
                return Sign(FailureReason.CRASH, told, name, inside)
    return None


def still_coming(pods: Iterable[Object]) -> bool:
    """Whether an image may be on its way still."""
    every = tuple(pods)
    waiting = [
        ((container.get("state") or {}).get("waiting") or {}).get("reason")
        for pod in every
        for container in (pod.get("status") or {}).get("containerStatuses") or ()
    ]
    return not every or any(reason in _COMING for reason in waiting)


def restarts(pods: Iterable[Object]) -> dict[str, int]:
    return {
        str(pod["metadata"]["name"]): sum(
            int(container.get("restartCount") or 0)
            for container in (pod.get("status") or {}).get("containerStatuses") or ()
        )
        for pod in pods
    }


def hosts_of(pods: Iterable[Object]) -> frozenset[str]:
    """By which names the holders of a lease begin: a pod's own, or its node's."""
    found = set()
    for pod in pods:
        spec = pod.get("spec") or {}
        on_host = bool(spec.get("hostNetwork"))
        name = spec.get("nodeName") if on_host else pod["metadata"]["name"]
        found.add(str(name) if on_host else str(name)[:_HOST_NAME].rstrip("-."))
    return frozenset(found)
