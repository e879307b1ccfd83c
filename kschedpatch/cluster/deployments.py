"""What is asked of the cluster about a scheduler's Deployment, and what it keeps of runs on it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from kschedpatch.cluster.kubectl import UNANSWERED, ApiRefused, Kubectl
from kschedpatch.core.deployment import records
from kschedpatch.core.deployment.files import TARGET_LABEL
from kschedpatch.core.deployment.records import Record
from kschedpatch.core.deployment.served import STOCK, Serving, config_source, serving, text_in
from kschedpatch.core.manifest.document import scheduler_index
from kschedpatch.core.objects.marks import MANAGED_BY
from kschedpatch.model.clusterplan import Object, Ref
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.facts import NodeFacts

_WORKLOADS = ("deployments.apps", "daemonsets.apps", "statefulsets.apps")
_MANAGERS = re.compile(r'conflicts? with "([^"]+)"')
_CONTAINERS = ".spec.template.spec.containers[*]"


# The other schedulers.


def stock_pods(kubectl: Kubectl) -> tuple[Object, ...]:
    return kubectl.listed("pods", "kube-system", "-l", "component=kube-scheduler")


def image_of_stock(pods: Iterable[Object]) -> str:
    for pod in pods:
        index = scheduler_index(pod)
        if index is not None:
            return str(pod["spec"]["containers"][index].get("image") or "")
    return ""


def schedulers(
    kubectl: Kubectl, stock: Iterable[Object], facts: Iterable[NodeFacts]
) -> tuple[Serving, ...]:
    """Static pods, whose configuration only their nodes know, and workloads that run one."""
    texts = {node.node_name: node.live_config for node in facts}
    found: dict[Serving, None] = {}
    for pod in stock:
        if (pod["metadata"].get("annotations") or {}).get("kubernetes.io/config.mirror"):
            text = texts.get(str(pod["spec"].get("nodeName")))
            seen = serving(STOCK, pod["spec"], text)
            found |= {seen: None} if seen is not None else {}
    for kind in _WORKLOADS:
        words_at = (f"{_CONTAINERS}.{part}" for part in ("name", "command", "args"))
        paths = (".metadata.namespace", ".metadata.name", *words_at)
        for namespace, *rest in kubectl.columns(kind, *paths, everywhere=True):
            name = rest[0] if len(rest) == len(paths) - 1 else ""
            if name and any("kube-scheduler" in word for word in rest[1:]):
                seen = _workload(kubectl, kind, namespace, name)
                found |= {seen: None} if seen is not None else {}
    return tuple(found)


def _workload(kubectl: Kubectl, kind: str, namespace: str, name: str) -> Serving | None:
    body = kubectl.get(kind, name, namespace)
    if body is None or (body.get("spec") or {}).get("replicas") == 0:
        return None
    spec = body["spec"]["template"]["spec"]
    source = config_source(spec)
    held = kubectl.get("configmap", source[0], namespace) if source is not None else None
    text = text_in(held, source[1]) if source is not None else None
    return serving(f"{body['kind']} {namespace}/{name}", spec, text)


def apply_deployment(
    kubectl: Kubectl, body: Object, allowed: frozenset[str], *, dry: bool = False
) -> Object:
    """Fields of others are not taken, but those of the managers that the operator has named."""
    try:
        return kubectl.apply_all([body], dry=dry, force=False)[0]
    except ApiRefused as error:
        others = set(_MANAGERS.findall(str(error)))
        if not others or others - allowed:
            raise
    return kubectl.apply_all([body], dry=dry, force=True)[0]


# What is kept of runs.


def kept_runs(kubectl: Kubectl, target: DeploymentTarget) -> tuple[Record, ...]:
    """Newest first."""
    items = kubectl.listed("secrets", target.namespace, "-l", records.selector(target))
    return records.in_order(r for r in map(records.decode, items) if r is not None)


def begin_record(kubectl: Kubectl, target: DeploymentTarget, record: Record) -> Record:
    """Returns it with the API server's time."""
    secret = records.encode(record, target)
    if records.is_too_large(secret):
        raise ApiRefused("what has to be kept of this run is too large for a Secret")
    [made] = kubectl.created([secret])
    return record._replace(when=str(made["metadata"].get("creationTimestamp") or ""))


def renew_record(kubectl: Kubectl, target: DeploymentTarget, record: Record) -> None:
    kubectl.replace(records.encode(record, target))


def forget_records(kubectl: Kubectl, target: DeploymentTarget, gone: Iterable[Record]) -> None:
    refs = [records.encode(record, target) for record in gone]
    if refs:
        kubectl.delete_all([{k: v for k, v in ref.items() if k != "data"} for ref in refs])


def forget_files(kubectl: Kubectl, target: DeploymentTarget, kept: Iterable[Record]) -> None:
    """ConfigMaps of runs that are no longer kept."""
    chosen = f"{MANAGED_BY}=kschedpatch,{TARGET_LABEL}={target.name}"
    named = {entry.ref.name for record in kept for entry in record.ledger.entries}
    there = kubectl.listed("configmaps", target.namespace, "-l", chosen)
    # Items of a list come without their kind from some versions.
    gone = [
        Ref("v1", "ConfigMap", target.namespace, str(item["metadata"]["name"])).bare
        for item in there
        if item["metadata"]["name"] not in named
    ]
    if gone:
        kubectl.delete_all(gone)


# One run at a time.


class Locked(Exception):
    """Somebody else is at it; the text says who."""


def lock(kubectl: Kubectl, target: DeploymentTarget, record: Record, seconds: int) -> None:
    """A Lease that only one can create. What has outlived its time, by the API server's clock
    alone, is taken over; its resource version guards that."""
    body = _lock(target, record, seconds)
    try:
        kubectl.create(body)
    except ApiRefused as error:
        if "already exists" not in str(error):
            raise
    else:
        return
    there = kubectl.get("lease", body["metadata"]["name"], target.namespace)
    if there is None:
        raise Locked("somebody else has just ended a run on it; try again")
    spec = there.get("spec") or {}
    age = _seconds(str(spec.get("renewTime")), record.when)
    if age is not None and age <= int(spec.get("leaseDurationSeconds") or 0):
        raise Locked(f"{spec.get('holderIdentity')} is at it, since {age:.0f} s")
    there["spec"] = body["spec"]
    kubectl.replace(there)


def unlock(kubectl: Kubectl, target: DeploymentTarget) -> None:
    with suppress(*UNANSWERED):
        kubectl.delete(_lock(target, None, 0))


def _lock(target: DeploymentTarget, record: Record | None, seconds: int) -> Object:
    body: Object = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": f"kschedpatch-lock-{target.name}",
            "namespace": target.namespace,
            "labels": {MANAGED_BY: "kschedpatch", TARGET_LABEL: target.name},
        },
    }
    if record is not None:
        body["spec"] = {
            "holderIdentity": f"{record.who} (run {record.run})",
            "leaseDurationSeconds": seconds,
            "renewTime": record.when.replace("Z", ".000000Z"),
        }
    return body


def _seconds(since: str, now: str) -> float | None:
    try:
        return (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds()
    except (ValueError, TypeError):
        return None
