"""Deployments and patches for tests."""

from __future__ import annotations

import copy
from typing import Any

from kschedpatch.core.deployment.planning import Around, plan_deployment
from kschedpatch.model.deploymentplan import DeploymentPlan
from kschedpatch.model.kubeversion import KubeVersion
from tests.unit.patches import patch_input

PACKING = {"inline": {"profiles": [{"schedulerName": "packing"}]}}
V34 = KubeVersion(34, 2)

LIVE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "gpu", "namespace": "kube-system", "labels": {"app": "gpu"}},
    "spec": {
        "replicas": 2,
        "progressDeadlineSeconds": 600,
        "selector": {"matchLabels": {"app": "gpu"}},
        "template": {
            "metadata": {"labels": {"app": "gpu"}},
            "spec": {
                "serviceAccountName": "gpu-scheduler",
                "containers": [
                    {
                        "name": "kube-scheduler",
                        "image": "registry.k8s.io/kube-scheduler:v1.34.2",
                        "command": ["kube-scheduler", "--config=/etc/own/config.yaml", "--v=2"],
                        "env": [{"name": "TZ", "value": "UTC"}],
                        "volumeMounts": [{"name": "own", "mountPath": "/etc/own"}],
                    },
                    {"name": "sidecar", "image": "registry.example.com/sidecar:v1"},
                ],
                "volumes": [{"name": "own", "configMap": {"name": "own", "defaultMode": 420}}],
            },
        },
    },
}


def live(**spec: Any) -> dict[str, Any]:
    result = copy.deepcopy(LIVE)
    result["spec"] |= spec
    return result


def changed(spec: dict[str, Any], base: dict[str, Any] | None = None, **around: Any) -> Any:
    wish = {"target": {"deployment": "kube-system/gpu"}, **spec}
    given = patch_input(wish, name="mine", files=around.pop("files", None))
    return plan_deployment(given, Around(base=base or live(), version=V34, **around))


def second(spec: dict[str, Any], **around: Any) -> DeploymentPlan:
    wish = {"target": {"newDeployment": "kube-system/packer"}, "config": PACKING, **spec}
    given = patch_input(wish, name="mine", files=around.pop("files", None))
    return plan_deployment(given, Around(**{"version": V34, **around}))


def codes(plan: DeploymentPlan) -> list[str]:
    return [finding.code for finding in plan.findings]


def container(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = body["spec"]["template"]["spec"]["containers"][0]
    return found


def named(plan: DeploymentPlan, kind: str) -> dict[str, dict[str, Any]]:
    return {o.body["metadata"]["name"]: o.body for o in plan.objects if o.body["kind"] == kind}
