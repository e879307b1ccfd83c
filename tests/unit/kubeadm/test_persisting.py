"""What kubeadm makes of an export means the same as the manifest that `apply` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.kubeadm.bundle import CLUSTER_FILE, PATCH_FILE, README, bundle
from kschedpatch.core.kubeadm.persisting import Persisted, persisted, writes_lists
from kschedpatch.core.manifest.document import Manifest, read_manifest
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.planner import plan_static_pod
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.inputs.loading import load_patch
from kschedpatch.inputs.quickflags import QuickFlags
from kschedpatch.inputs.recipes import recipe_text
from kschedpatch.model.kubeversion import KubeVersion
from tests.recipenames import OF_STATIC_PODS
from tests.unit.kubeadm.rendering import kubeadm_renders, meaning
from tests.unit.patches import patch_input

MANIFESTS = Path(__file__).parents[3] / "fixtures" / "manifests" / "kubeadm"


def base_of(minor: int) -> Manifest:
    reading = read_manifest((MANIFESTS / f"v1.{minor}.yaml").read_bytes(), "kube-scheduler.yaml")
    assert reading.manifest is not None
    return reading.manifest


def kept_of(spec: str, minor: int) -> tuple[Persisted, dict[str, Any], dict[str, Any]]:
    """The export of a patch, the pod as it was, and the pod as it is planned."""
    value = value_of(read(spec.encode()).documents[0])
    return exported(patch_input(value, name="trial"), minor)


def exported(given: PatchInput, minor: int) -> tuple[Persisted, dict[str, Any], dict[str, Any]]:
    base = base_of(minor)
    plan = plan_static_pod(given, base)
    assert plan.ok, plan.findings
    after = read_manifest(plan.after.encode(), "after").manifest
    assert after is not None
    return (
        persisted(base.pod, after.pod, after.container_index, listed=writes_lists(minor)),
        base.pod,
        after.pod,
    )


SPECS = {
    "flags": 'scheduler: {args: {v: "5", leader-elect: "true", bind-address: 0.0.0.0}}',
    "a flag that goes": "scheduler: {args: {leader-elect: null}}",
    "image and variables": (
        "scheduler: {image: registry.example.com/s:v1.34.2, env: [{name: TZ, value: UTC}]}"
    ),
    "dnsPolicy": "scheduler: {dnsPolicy: ClusterFirstWithHostNet}",
    "a mount": (
        "mounts: [{name: d, hostPath: /var/lib/kubelet/device-plugins, mountPath: /d, "
        "type: Directory, readOnly: true}]"
    ),
    "one that can be written to": "mounts: [{name: d, hostPath: /d, type: Directory}]",
    "kubeadm's own mount, changed": (
        "mounts: [{name: kubeconfig, hostPath: /etc/kubernetes/other.conf, "
        "mountPath: /etc/kubernetes/scheduler.conf, type: File}]"
    ),
    "a configuration": "config: {inline: {profiles: [{schedulerName: default-scheduler}]}}",
}


@pytest.mark.parametrize("minor", [22, 28, 31, 34, 36])
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_kubeadm_renders_what_apply_writes(spec: str, minor: int) -> None:
    kept, before, after = kept_of(spec, minor)
    assert meaning(kubeadm_renders(before, kept)) == meaning(after)


@pytest.mark.parametrize("minor", [23, 28, 34, 36])
@pytest.mark.parametrize("name", OF_STATIC_PODS)
def test_so_do_the_recipes(name: str, minor: int) -> None:
    given = load_patch(recipe_text(name), QuickFlags()).given
    assert given is not None
    kept, before, after = exported(given, minor)
    assert meaning(kubeadm_renders(before, kept)) == meaning(after)


@pytest.mark.parametrize(
    "minor, api, arguments",
    [
        (30, "kubeadm.k8s.io/v1beta3", {"v": "5"}),
        (31, "kubeadm.k8s.io/v1beta4", [{"name": "v", "value": "5"}]),
    ],
)
def test_the_spelling_is_that_of_the_minor(minor: int, api: str, arguments: Any) -> None:
    kept, _, _ = kept_of('scheduler: {args: {v: "5"}, env: [{name: TZ, value: UTC}]}', minor)
    assert kept.fragment["apiVersion"] == api
    assert kept.scheduler["extraArgs"] == arguments
    assert ("extraEnvs" in kept.scheduler) == (minor >= 31)
    [*containers] = kept.patch.get("spec", {}).get("containers", [])
    assert any("env" in container for container in containers) == (minor < 31)


def test_what_the_cluster_can_remember_is_not_in_the_patches() -> None:
    kept, _, _ = kept_of(SPECS["a mount"], 34)
    assert kept.scheduler["extraVolumes"] == [
        {
            "name": "d",
            "hostPath": "/var/lib/kubelet/device-plugins",
            "mountPath": "/d",
            "readOnly": True,
            "pathType": "Directory",
        }
    ]
    # By its annotations the manifest is known as ours; the next one is made from something else.
    assert kept.patch == {"metadata": {"annotations": {"kschedpatch.io/patch": "trial"}}}


def test_the_files_and_what_they_say() -> None:
    kept, _, _ = kept_of(SPECS["image and variables"], 34)
    files = bundle(kept, "trial", KubeVersion(34, 2), None)
    assert set(files) == {CLUSTER_FILE, PATCH_FILE, README}
    for name in (CLUSTER_FILE, PATCH_FILE):
        assert isinstance(value_of(read(files[name].encode()).documents[0]), dict)
    assert "registry.example.com/s:v1.34.2" in files[README]
    assert "--patches" in files[README]
