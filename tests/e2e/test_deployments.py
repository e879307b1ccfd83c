"""Schedulers that run as Deployments, on the real cluster: a second one beside the stock scheduler,
somebody's Deployment that is changed, and what heals by itself. The stock scheduler notices nothing
of any of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.model import exitcodes

from .cluster import demo
from .cluster.api import Object, named
from .cluster.build import build
from .cluster.cluster import Cluster
from .cluster.console import wait_for, wait_until
from .cluster.node import Node
from .cluster.workload import fake_nodes
from .recipe import Recipe, Verified, pod, scheduled_by
from .test_systems import demo_for, demo_only, one_is_filled
from .tool import Said, access, kschedpatch, patch_file, standing

pytestmark = pytest.mark.full

KUBE_SYSTEM = "kube-system"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{KUBE_SYSTEM}/deployments"
ROLE_API = "/apis/rbac.authorization.k8s.io/v1"
OURS = "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dkschedpatch"
COLLECTIONS = (
    DEPLOYMENTS,
    f"/api/v1/namespaces/{KUBE_SYSTEM}/configmaps",
    f"/api/v1/namespaces/{KUBE_SYSTEM}/secrets",
    f"/api/v1/namespaces/{KUBE_SYSTEM}/serviceaccounts",
    f"{ROLE_API}/namespaces/{KUBE_SYSTEM}/roles",
    f"{ROLE_API}/namespaces/{KUBE_SYSTEM}/rolebindings",
    f"{ROLE_API}/clusterroles",
    f"{ROLE_API}/clusterrolebindings",
    f"/apis/coordination.k8s.io/v1/namespaces/{KUBE_SYSTEM}/leases",
)
QUICK = ("--settle", "1", "--timeout", "90")
SECOND = """
target: {newDeployment: kube-system/e2e-second}
config: {inline: {profiles: [{schedulerName: e2e-second}]}}
"""


@pytest.fixture(autouse=True)
def _stock_notices_nothing(cluster: Cluster) -> Iterator[None]:
    """And whatever a test leaves, the next one does not find it."""
    cluster.wait_schedulers()
    before = {node.name: standing(node) for node in cluster.nodes}
    yield
    for collection in COLLECTIONS:
        for item in cluster.api.get(f"{collection}?{OURS}")["items"]:
            cluster.api.delete(named(collection, item["metadata"]["name"]))
    for node in cluster.nodes:
        alone = partial(_is_alone, node)
        wait_until(f"no scheduler but the stock one on {node.name}", alone, 60)
        assert standing(node) == before[node.name]
        node.run("rm -rf /etc/kubernetes/kschedpatch /var/lib/kschedpatch")


def _is_alone(node: Node) -> bool:
    return len(node.containers("kube-scheduler")) == 1


@dataclass(frozen=True)
class Deployed:
    """A scheduler's Deployment, and the way to it."""

    cluster: Cluster
    name: str
    file: str
    way: tuple[str, ...]
    env: dict[str, str] | None = None

    @property
    def target(self) -> tuple[str, ...]:
        return ("--deployment", f"{KUBE_SYSTEM}/{self.name}")

    def runs(self, command: str, *words: str) -> Said:
        return kschedpatch(self.cluster, command, *self.way, *words, env=self.env)

    def apply(self, *words: str, code: int = exitcodes.OK) -> Said:
        said = self.runs("apply", "-f", self.file, "--yes", *QUICK, "--pull-timeout", "90", *words)
        assert said.code == code, said.err + said.out
        return said

    def verify(self, *words: str) -> Verified:
        return Verified(self.runs("verify", "-f", self.file, "-o", "json", *words))

    def rollback(self, *words: str) -> Said:
        said = self.runs("rollback", *self.target, "--yes", *QUICK, *words)
        assert said.code == exitcodes.OK, said.err + said.out
        return said

    def purge(self) -> None:
        said = self.runs("purge", *self.target, "--yes")
        assert said.code == exitcodes.OK, said.err + said.out
        assert ours(self.cluster) == []

    @property
    def live(self) -> Object:
        return self.cluster.api.get(named(DEPLOYMENTS, self.name))

    @property
    def exists(self) -> bool:
        return self.cluster.api.exists(named(DEPLOYMENTS, self.name))


def ours(cluster: Cluster) -> list[str]:
    """All that bears kschedpatch's name; pods of a Deployment that is gone go by themselves."""
    return [
        f"{collection.rpartition('/')[2]} {item['metadata']['name']}"
        for collection in COLLECTIONS
        for item in cluster.api.get(f"{collection}?{OURS}")["items"]
    ]


def through_nodes(cluster: Cluster, name: str, file: str) -> Deployed:
    nodes = tuple(node.name for node in cluster.nodes)
    return Deployed(cluster, name, file, (*nodes, *access(cluster)))


def through_kubectl(cluster: Cluster, name: str, file: str) -> Deployed:
    """The rig's own kubectl on this machine, and no node."""
    program = build(cluster.version).paths["kubectl"]
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    way = ("--kubeconfig", str(cluster.kubeconfig))
    return Deployed(cluster, name, file, way, {**os.environ, "PATH": path})


# A second scheduler.


def test_bin_packing_as_a_second_scheduler(cluster: Cluster, tmp_path: Path) -> None:
    """System 4: the custom pod packs, the default one spreads, and /configz says 60 s."""
    recipe = Recipe.init(cluster, tmp_path, "bin-packing-second")
    recipe.probe_on_fake_nodes("bin-packing-second/nginx-default.yaml", expect="empty")
    recipe.probe_on_fake_nodes("bin-packing-second/nginx-custom.yaml", expect="filled")
    second = through_nodes(cluster, "my-custom-kube-scheduler", str(recipe.file))
    second.apply()
    with one_is_filled(cluster):
        verified = second.verify("--probe")
    assert verified.said.code == exitcodes.OK, verified.said.out + verified.said.err
    assert verified.states("probe pod") == {"ok"}
    assert verified.states("profile my-custom-scheduler") == {"ok"}
    arguments = [check for check in verified.of("arguments") if "VolumeBinding" in str(check)]
    assert {check["state"] for check in arguments} == {"ok"}
    assert "60" in str(arguments), arguments
    again = second.apply()
    assert "Nothing to change" in again.out
    second.purge()
    assert not second.exists


def test_namescore_as_a_second_scheduler(cluster: Cluster, tmp_path: Path) -> None:
    """System 2: a plugin of one's own, and the lease of the write-up."""
    demo_only(cluster)
    recipe = Recipe.init(cluster, tmp_path, "namescore-second")
    demo_for(cluster, recipe, "kube-scheduler-namescore")
    recipe.probe_on_fake_nodes("namescore-second/busybox-test-scheduler.yaml")
    second = through_nodes(cluster, "namescore-scheduler", str(recipe.file))
    second.apply()
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/my-scheduler"
    holder = cluster.api.get(lease)["spec"]["holderIdentity"]
    assert holder.startswith("namescore-scheduler-")
    with fake_nodes(cluster.api, ["k8s-node01", "k8s-node02", "k8s-node03"]):
        verified = second.verify("--probe")
        assert verified.said.code == exitcodes.OK, verified.said.out + verified.said.err
        assert verified.states("plugin NameScore") == {"ok"}
        assert any("k8s-node02" in check["evidence"] for check in verified.of("probe pod"))
        with pod(cluster, "by-the-default"):
            assert scheduled_by(cluster, "by-the-default") == "default-scheduler"
    second.purge()
    assert not cluster.api.exists(lease)


@pytest.mark.parametrize("way", [through_nodes, through_kubectl])
def test_the_rights_on_a_lease_elsewhere_are_enough(
    cluster: Cluster, tmp_path: Path, way: Any
) -> None:
    """On every minor, in a namespace in which nobody grants anything; two pods, one leads."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "e2e-leases"}}
    cluster.api.create("/api/v1/namespaces", space)
    elsewhere = "{resourceName: elsewhere, resourceNamespace: e2e-leases}"
    spec = f"""
target: {{newDeployment: kube-system/e2e-second}}
scheduler: {{replicas: 2}}
config:
  inline:
    leaderElection: {elsewhere}
    profiles: [{{schedulerName: e2e-second}}]
"""
    second = way(cluster, "e2e-second", patch_file(tmp_path, spec))
    try:
        second.apply()
        path = "/apis/coordination.k8s.io/v1/namespaces/e2e-leases/leases/elsewhere"
        holder = cluster.api.get(path)["spec"]["holderIdentity"]
        assert holder.startswith("e2e-second-")
        pods = cluster.api.get(
            f"/api/v1/namespaces/{KUBE_SYSTEM}/pods?labelSelector=component%3De2e-second"
        )["items"]
        assert len({item["spec"]["nodeName"] for item in pods}) == min(2, len(cluster.nodes))
        with fake_nodes(cluster.api, 1), pod(cluster, "by-it", schedulerName="e2e-second"):
            assert scheduled_by(cluster, "by-it") == "e2e-second"
        status = second.runs("status", *second.target, "-o", "json").document
        assert status["state"] == "as left"
        second.rollback("--to", "original")
        assert not second.exists
        second.purge()
    finally:
        cluster.api.delete("/api/v1/namespaces/e2e-leases")
        wait_until(
            "the namespace is gone",
            lambda: not cluster.api.exists("/api/v1/namespaces/e2e-leases"),
            60,
        )


def test_a_name_of_the_stock_scheduler_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    text = SECOND.replace("schedulerName: e2e-second", "schedulerName: default-scheduler")
    second = through_nodes(cluster, "e2e-second", patch_file(tmp_path, text))
    said = second.apply(code=exitcodes.INVALID)
    assert "P015" in said.err
    assert ours(cluster) == []


# What heals by itself.

BROKEN = {
    "no such image": "scheduler: {image: registry.example.com/nobody/has-this:v1.34.2}",
    "a flag that it refuses": "scheduler: {args: {no-such-flag: x}}",
    "rights that nobody gives": "rbac: {manage: false}",
}


@pytest.mark.parametrize("rest", BROKEN.values(), ids=BROKEN)
def test_a_second_scheduler_that_fails_is_gone_again(
    cluster: Cluster, tmp_path: Path, rest: str
) -> None:
    second = through_nodes(cluster, "e2e-second", patch_file(tmp_path, f"{SECOND}{rest}\n"))
    said = second.runs("apply", "-f", second.file, "--yes", *QUICK, "--no-preflight")
    # Missing rights show before anything runs, by asking for them.
    assert said.code in (exitcodes.ROLLED_BACK, exitcodes.REFUSED), said.err + said.out
    assert not second.exists
    left = [item for item in ours(cluster) if not item.startswith("secrets ")]
    assert left == []
    second.purge()


@pytest.mark.parametrize("rest", list(BROKEN.values())[:2], ids=list(BROKEN)[:2])
def test_a_change_that_fails_goes_back_to_the_former_revision(
    cluster: Cluster, tmp_path: Path, rest: str
) -> None:
    good = through_nodes(cluster, "e2e-second", patch_file(tmp_path, SECOND, "good"))
    good.apply()
    before = good.live["spec"]["template"]
    bad = through_nodes(cluster, "e2e-second", patch_file(tmp_path, f"{SECOND}{rest}\n", "bad"))
    said = bad.apply("--no-preflight", code=exitcodes.ROLLED_BACK)
    assert "is back on what it ran before" in said.out
    assert good.live["spec"]["template"] == before
    with fake_nodes(cluster.api, 1), pod(cluster, "still-served", schedulerName="e2e-second"):
        assert scheduled_by(cluster, "still-served") == "e2e-second"
    good.purge()


def test_a_trial_on_a_node_finds_it_first(cluster: Cluster, tmp_path: Path) -> None:
    text = f"{SECOND}scheduler: {{args: {{no-such-flag: x}}}}\n"
    second = through_nodes(cluster, "e2e-second", patch_file(tmp_path, text))
    said = second.apply(code=exitcodes.REFUSED)
    assert "unknown flag: --no-such-flag" in said.out
    assert not second.exists
    second.purge()


# Somebody's Deployment.


@pytest.fixture
def gpu(cluster: Cluster) -> Iterator[Object]:
    """A scheduler as people deploy it, by `kubectl apply` on a node; gives its spec."""
    node = cluster.nodes[0]
    listed = {"apiVersion": "v1", "kind": "List", "items": _gpu_objects(cluster)}
    text = json.dumps(listed).encode()
    kubectl = "kubectl --kubeconfig=/etc/kubernetes/admin.conf"
    node.run(f"{kubectl} apply -f -", stdin=text)
    path = named(DEPLOYMENTS, "gpu-scheduler")
    try:
        yield wait_for("the Deployment is ready", lambda: _ready(cluster, path), 120, 1)
    finally:
        node.run(f"{kubectl} delete -f - --ignore-not-found", stdin=text)


def _ready(cluster: Cluster, path: str) -> Object | None:
    found = cluster.api.get(path)
    return found if (found.get("status") or {}).get("readyReplicas") == 1 else None


def _gpu_objects(cluster: Cluster) -> list[Object]:
    config = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "leaderElection: {resourceName: gpu-scheduler}\n"
        "profiles: [{schedulerName: gpu-scheduler}]\n"
    )
    space = {"namespace": KUBE_SYSTEM}
    rbac = "rbac.authorization.k8s.io"
    who = [{"kind": "ServiceAccount", "name": "gpu-scheduler", **space}]

    def bound(kind: str, name: str, role: str, metadata: Object) -> Object:
        ref = {"apiGroup": rbac, "kind": kind, "name": role}
        about = {"name": name, **metadata}
        binding = "RoleBinding" if metadata else "ClusterRoleBinding"
        return {
            "apiVersion": f"{rbac}/v1",
            "kind": binding,
            "metadata": about,
            "roleRef": ref,
            "subjects": who,
        }

    rule = {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "update", "create", "list", "watch"],
    }
    labels = {"app": "gpu-scheduler"}
    container = {
        "name": "kube-scheduler",
        "image": f"registry.k8s.io/kube-scheduler:v{cluster.version.release}",
        "command": ["kube-scheduler", "--config=/etc/gpu/config.yaml", "--v=2"],
        "env": [{"name": "TZ", "value": "UTC"}],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/gpu"}],
    }
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "serviceAccountName": "gpu-scheduler",
            "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
            "volumes": [{"name": "config", "configMap": {"name": "gpu-config"}}],
        },
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    name = {"name": "gpu-scheduler", **space}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": name},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "gpu-config", **space},
            "data": {"config.yaml": config},
        },
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": name, "rules": [rule]},
        bound("Role", "gpu-scheduler", "gpu-scheduler", space),
        bound("Role", "gpu-reader", "extension-apiserver-authentication-reader", space),
        bound("ClusterRole", "gpu-scheduler", "system:kube-scheduler", {}),
        bound("ClusterRole", "gpu-volumes", "system:volume-scheduler", {}),
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": name, "spec": spec},
    ]


def test_gpumps_against_a_deployment(cluster: Cluster, tmp_path: Path, gpu: Object) -> None:
    """System 1: named whose fields they are, taken when told to, and taken back to the letter."""
    demo_only(cluster)
    recipe = Recipe.init(cluster, tmp_path, "gpumps-deployment")
    demo_for(cluster, recipe, "kube-scheduler-gpumps")
    recipe.probe_on_fake_nodes("gpumps-deployment/mps.yaml", expect="gpu-2")
    changed = through_nodes(cluster, "gpu-scheduler", str(recipe.file))
    refused = changed.apply(code=exitcodes.REFUSED)
    assert "N080" in refused.err
    assert "kubectl-client-side-apply" in refused.err
    assert changed.live["spec"]["template"] == gpu["spec"]["template"]
    table = {"gpu-1": (48, 40), "gpu-2": (48, 2), "gpu-3": (48, 30)}
    with demo.device_plugins(cluster.nodes, table):
        changed.apply("--take-over", "kubectl-client-side-apply")
        spec = changed.live["spec"]["template"]["spec"]
        # What the patch does not speak of is as it was: kubectl must not have removed it.
        assert spec["serviceAccountName"] == "gpu-scheduler"
        assert spec["containers"][0]["env"] == [{"name": "TZ", "value": "UTC"}]
        assert {volume["name"] for volume in spec["volumes"]} >= {"config", "device-plugin-sock"}
        with fake_nodes(cluster.api, list(table)):
            verified = changed.verify("--probe")
        assert verified.said.code == exitcodes.OK, verified.said.out + verified.said.err
        for subject in ("plugin GPUMPSPlugin", "log line", "probe pod", "lease"):
            assert verified.states(subject) == {"ok"}, (subject, verified.of(subject))
    changed.rollback()
    assert changed.live["spec"]["template"] == gpu["spec"]["template"]
    history = changed.runs("history", *changed.target, "-o", "json").document
    assert [(run["kind"], run["outcome"]) for run in history["runs"]] == [
        ("rollback", "confirmed"),
        ("apply", "confirmed"),
    ]


def test_a_broken_image_of_somebodys_deployment_heals(
    cluster: Cluster, tmp_path: Path, gpu: Object
) -> None:
    spec = """
target: {deployment: kube-system/gpu-scheduler}
scheduler: {image: registry.example.com/nobody/has-this:v1.34.2}
"""
    changed = through_kubectl(cluster, "gpu-scheduler", patch_file(tmp_path, spec))
    changed.apply(
        "--take-over", "kubectl-client-side-apply", "--no-preflight", code=exitcodes.ROLLED_BACK
    )
    assert changed.live["spec"]["template"] == gpu["spec"]["template"]
    assert _ready(cluster, named(DEPLOYMENTS, "gpu-scheduler")) is not None
