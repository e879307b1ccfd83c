"""A second scheduler beside the stock one: its Deployment, its ServiceAccount, and the rights that
every scheduler needs. Nothing of it is privileged, and nothing of the stock one is touched."""

from __future__ import annotations

from typing import Any

from kschedpatch.core.deployment.files import TARGET_LABEL
from kschedpatch.core.deployment.strategy import PROGRESS_DEADLINE
from kschedpatch.core.fleet.serving import READYZ
from kschedpatch.core.rbac.objects import Grantee, binding, labels_for
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.plan import ClusterObject

PORT = 10259
CONTAINER = "kube-scheduler"
_NOBODY = 65532
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
_MASTER = "node-role.kubernetes.io/master"
#: The last minor whose kubeadm still taints nodes under the old key.
_LAST_MASTER = 24


def stock_image(version: KubeVersion) -> str:
    return f"registry.k8s.io/kube-scheduler:v1.{version.minor}.{version.patch or 0}"


def deployment(
    target: DeploymentTarget, patch_name: str, image: str, minor: int, replicas: int
) -> dict[str, Any]:
    """As it is before the patch has its say; flags and files come with that."""
    labels = {"component": target.name}
    own = {**labels_for(patch_name), TARGET_LABEL: target.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": target.name,
            "namespace": target.namespace,
            "labels": {**labels, **own},
        },
        "spec": {
            "replicas": replicas,
            "progressDeadlineSeconds": PROGRESS_DEADLINE,
            "selector": {"matchLabels": labels},
            # The old pods stay until the new ones are ready.
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "template": {
                "metadata": {"labels": {**labels, **own}},
                "spec": _pod(target, image, minor, replicas),
            },
        },
    }


def _pod(target: DeploymentTarget, image: str, minor: int, replicas: int) -> dict[str, Any]:
    keys = [_CONTROL_PLANE, *([_MASTER] if minor <= _LAST_MASTER else [])]
    spec: dict[str, Any] = {
        "affinity": {"nodeAffinity": _near_the_api_server(keys)},
        "containers": [_container(image, minor)],
        "priorityClassName": "system-cluster-critical",
        "securityContext": {
            "fsGroup": _NOBODY,  # files of the ConfigMap that not everybody may read
            "runAsGroup": _NOBODY,
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "serviceAccountName": target.name,
        "tolerations": [{"effect": "NoSchedule", "key": key, "operator": "Exists"} for key in keys],
    }
    if replicas > 1:
        spec["topologySpreadConstraints"] = [
            {
                "labelSelector": {"matchLabels": {"component": target.name}},
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",  # one node is better than no pod
            }
        ]
    return spec


def _near_the_api_server(keys: list[str]) -> dict[str, Any]:
    """The stock scheduler's image is there already; a cluster may hide these nodes, though."""
    terms = [
        {"preference": {"matchExpressions": [{"key": key, "operator": "Exists"}]}, "weight": 1}
        for key in keys
    ]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms}


def _container(image: str, minor: int) -> dict[str, Any]:
    alive, ready = ("/livez", "/readyz") if minor >= READYZ else ("/healthz", "/healthz")
    return {
        "command": ["kube-scheduler"],
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": _probe(alive, period=10, failures=8),
        "name": CONTAINER,
        "readinessProbe": _probe(ready, period=2, failures=3),
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "privileged": False,
            "readOnlyRootFilesystem": True,
        },
        "startupProbe": _probe(alive, period=2, failures=120),
    }


def _probe(path: str, *, period: int, failures: int) -> dict[str, Any]:
    return {
        "failureThreshold": failures,
        "httpGet": {"path": path, "port": PORT, "scheme": "HTTPS"},
        "periodSeconds": period,
        "timeoutSeconds": 15,
    }


def account(target: DeploymentTarget, patch_name: str) -> ClusterObject:
    body = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": target.name,
            "namespace": target.namespace,
            "labels": {**labels_for(patch_name), TARGET_LABEL: target.name},
        },
    }
    return ClusterObject(body, "target")


def usual_rights(patch_name: str, grantee: Grantee) -> list[ClusterObject]:
    """What Kubernetes' own roles give to a scheduler. They follow the cluster's version."""
    clusterwide = [
        binding(f"{grantee.role}:{short}", "", ("ClusterRole", role), patch_name, "target", grantee)
        for short, role in (
            ("scheduler", "system:kube-scheduler"),
            ("volumes", "system:volume-scheduler"),
        )
    ]
    # Who asks it for /metrics is recognised by what this ConfigMap holds.
    reader = ("Role", "extension-apiserver-authentication-reader")
    name = f"{grantee.role}:authentication"
    return [*clusterwide, binding(name, "kube-system", reader, patch_name, "target", grantee)]
