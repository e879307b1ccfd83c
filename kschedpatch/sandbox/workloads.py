"""The controllers of a sandbox, as far as objects of a patch need them: definitions are
established, workloads get pods, pods run where they are bound, Services get their endpoints."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from kschedpatch.sandbox.apiserver import ApiServer, Object
from kschedpatch.sandbox.secondschedulers import SecondSchedulers
from kschedpatch.sandbox.simulation import Simulation

_ROUND = 0.5
_CONTROLLER = "kube-controller-manager"
UNPULLABLE = "unpullable"
"""In an image's name: no registry has it."""
CRASHING = "crashing"
REVISION = "deployment.kubernetes.io/revision"
HASH = "pod-template-hash"


class Workloads:
    def __init__(
        self,
        simulation: Simulation,
        api: ApiServer,
        seconds: SecondSchedulers,
        logs: dict[tuple[str, str], tuple[str, ...]],
    ) -> None:
        self._api = api
        self._seconds = seconds
        self._logs = logs
        self.stop = simulation.every(_ROUND, self._round)

    def _round(self) -> None:
        if not self._api.is_up:
            return
        for item in self._api.all("CustomResourceDefinition"):
            established = {"type": "Established", "status": "True"}
            self._report(item, {"conditions": [established]})
        owners = set()
        uids = {item["metadata"]["uid"] for item in self._api.all("Deployment")}
        for item in list(self._api.all("ReplicaSet")):
            if _owner(item) not in uids:
                about = item["metadata"]
                self._api.delete("ReplicaSet", about["name"], about["namespace"])
        for item in self._api.all("Deployment"):
            owners |= self._deploy(item)
        for kind in ("StatefulSet", "DaemonSet", "Job"):
            for item in self._api.all(kind):
                owners.add(item["metadata"]["uid"])
                self._work(kind, item)
        for pod in list(self._api.all("Pod")):
            owner = _owner(pod)
            if owner and owner not in owners:
                self._api.delete("Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])
            elif owner and pod["spec"].get("nodeName"):
                self._run(pod)
        self._seconds.forget({pod["metadata"]["name"] for pod in self._api.all("Pod")})
        for service in self._api.all("Service"):
            self._serve(service)

    def _report(self, item: Object, status: dict[str, Any]) -> None:
        if item.get("status") != status:
            self._api.replace({**item, "status": status}, _CONTROLLER)

    def _work(self, kind: str, item: Object) -> None:
        metadata = item["metadata"]
        pods = [p for p in self._api.all("Pod") if _owner(p) == metadata["uid"]]
        wanted = item["spec"].get("replicas", 1)
        image = _image(item["spec"]["template"])
        for pod in pods[wanted:] + [p for p in pods[:wanted] if _image(p) != image]:
            self._api.delete("Pod", pod["metadata"]["name"], metadata["namespace"])
        pods = [p for p in pods[:wanted] if _image(p) == image]
        for number in range(len(pods), wanted):
            self._api.create(_pod(item, number))
        ready = sum(_is_ready(pod) for pod in pods)
        status: dict[str, Any] = {"observedGeneration": metadata["generation"]}
        if kind == "Job":
            done = ready > 0
            status = {"conditions": [{"type": "Complete", "status": "True"}]} if done else {}
        elif kind == "DaemonSet":
            names = ("desiredNumberScheduled", "updatedNumberScheduled")
            status |= dict.fromkeys(names, 1) | {"numberAvailable": ready}
        else:
            status |= {"replicas": len(pods), "updatedReplicas": len(pods)}
            status |= {"readyReplicas": ready, "availableReplicas": ready}
        self._report(item, status)

    def _deploy(self, item: Object) -> set[str]:
        """A ReplicaSet for each pod template; old pods go one by one as new ones are ready. The
        uids of all of them."""
        metadata, spec = item["metadata"], item["spec"]
        sets = [s for s in self._api.all("ReplicaSet") if _owner(s) == metadata["uid"]]
        newest = self._replica_set(item, sets)
        uids = {s["metadata"]["uid"] for s in (*sets, newest)}
        pods = [p for p in self._api.all("Pod") if _owner(p) in uids]
        new = [p for p in pods if _owner(p) == newest["metadata"]["uid"]]
        old = [p for p in pods if p not in new]
        wanted = spec.get("replicas", 1)
        for pod in new[wanted:]:
            self._api.delete("Pod", pod["metadata"]["name"], metadata["namespace"])
        if len(new) < wanted and len(pods) < wanted + 1:
            self._api.create(_pod(newest, len(new)))
        # The unready among the old first: they serve nobody.
        old.sort(key=_is_ready)
        ready = sum(map(_is_ready, pods))
        for pod in old:
            if not _is_ready(pod) or ready > wanted:
                ready -= _is_ready(pod)
                self._api.delete("Pod", pod["metadata"]["name"], metadata["namespace"])
        counts = {"replicas": len(pods), "updatedReplicas": min(len(new), wanted)}
        counts |= dict.fromkeys(("readyReplicas", "availableReplicas"), sum(map(_is_ready, pods)))
        self._report(item, {"observedGeneration": metadata["generation"], **counts})
        for one in sets:
            if not any(_owner(p) == one["metadata"]["uid"] for p in pods):
                uids.discard(one["metadata"]["uid"])
        return uids | {newest["metadata"]["uid"]}

    def _replica_set(self, item: Object, sets: list[Object]) -> Object:
        metadata, template = item["metadata"], item["spec"]["template"]
        digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]
        revisions = [int(s["metadata"]["annotations"][REVISION]) for s in sets]
        found = next((s for s in sets if s["metadata"]["labels"][HASH] == digest), None)
        newest = max(revisions, default=0)
        if found is not None and int(found["metadata"]["annotations"][REVISION]) == newest:
            return found
        if found is not None:
            found["metadata"]["annotations"][REVISION] = str(newest + 1)
            return self._api.replace(found, _CONTROLLER)
        about = dict(template.get("metadata") or {})
        about["labels"] = {**(about.get("labels") or {}), HASH: digest}
        return self._api.create(
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {
                    "name": f"{metadata['name']}-{digest}",
                    "namespace": metadata["namespace"],
                    "labels": about["labels"],
                    "annotations": {REVISION: str(newest + 1)},
                    "ownerReferences": [{"kind": "Deployment", "uid": metadata["uid"]}],
                },
                "spec": {"template": {**template, "metadata": about}},
            }
        )

    def _run(self, pod: Object) -> None:
        image = _image(pod)
        state: dict[str, Any] = {"running": {}}
        more: dict[str, Any] = {}
        if UNPULLABLE in image:
            message = f'Back-off pulling image "{image}"'
            state = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
            self._warn(pod, "Failed", f'Failed to pull image "{image}": not found')
        elif CRASHING in image:
            state = {"waiting": {"reason": "CrashLoopBackOff"}}
        else:
            scheduler = self._seconds.run(pod)
            if scheduler is not None and scheduler.problem is not None:
                state = {"waiting": {"reason": "CrashLoopBackOff"}}
                more = {"restartCount": 1, "lastState": {"terminated": {"exitCode": 1}}}
                place = (pod["metadata"]["namespace"], pod["metadata"]["name"])
                self._logs[place] = scheduler.problem.lines
            elif scheduler is not None and not scheduler.ready:
                more = {"ready": False}
        unready = more.get("ready") is False
        ready = "True" if "running" in state and not unready else "False"
        scheduled = {"type": "PodScheduled", "status": "True"}
        conditions = [scheduled, {"type": "Ready", "status": ready}]
        name = pod["spec"]["containers"][0].get("name", "main")
        containers = [{"name": name, "state": state, **more}]
        status = {"phase": "Running" if "running" in state else "Pending"}
        self._report(pod, {**status, "conditions": conditions, "containerStatuses": containers})

    def _warn(self, pod: Object, reason: str, message: str) -> None:
        metadata = pod["metadata"]
        self._api.apply(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {
                    "name": f"{metadata['name']}.{reason.lower()}",
                    "namespace": metadata["namespace"],
                },
                "involvedObject": {"kind": "Pod", "name": metadata["name"]},
                "type": "Warning",
                "reason": reason,
                "message": message,
            }
        )

    def _serve(self, service: Object) -> None:
        chosen = service["spec"].get("selector") or {}
        metadata = service["metadata"]
        pods = [
            pod
            for pod in self._api.all("Pod", metadata["namespace"])
            if chosen and chosen.items() <= (pod["metadata"].get("labels") or {}).items()
        ]
        labels = {"kubernetes.io/service-name": metadata["name"]}
        endpoints = [{"conditions": {"ready": _is_ready(pod)}} for pod in pods]
        self._api.apply(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "name": f"{metadata['name']}-x",
                    "namespace": metadata["namespace"],
                    "labels": labels,
                },
                "endpoints": endpoints,
            }
        )


def _owner(pod: Object) -> str:
    owners = pod["metadata"].get("ownerReferences") or ()
    return str(owners[0]["uid"]) if owners else ""


def _image(pod: Object) -> str:
    return str(pod["spec"]["containers"][0].get("image", ""))


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _pod(item: Object, number: int) -> Object:
    metadata, template = item["metadata"], item["spec"]["template"]
    about = dict(template.get("metadata") or {})
    about |= {"name": f"{metadata['name']}-{metadata['resourceVersion']}-{number}"}
    about |= {"namespace": metadata["namespace"]}
    about["ownerReferences"] = [{"kind": item["kind"], "uid": metadata["uid"]}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": dict(template["spec"])}
