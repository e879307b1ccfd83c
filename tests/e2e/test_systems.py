"""The five systems that people set up by hand today, each through apply, verify and rollback alone,
and each with its own proof."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kschedpatch.model import exitcodes

from .cluster import demo
from .cluster.api import named
from .cluster.cluster import Cluster
from .cluster.console import wait_for, wait_until
from .cluster.workload import fake_nodes
from .recipe import PODS, Recipe, node_of, pod, scheduled_by
from .tool import kschedpatch, standing, traces

pytestmark = [pytest.mark.usefixtures("untouched_nodes"), pytest.mark.three_nodes]

EXTENDER = "registry.example.com/gpu-admission:v1.0.0"
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/gpu-admission"
SERVICE = "/api/v1/namespaces/kube-system/services/gpu-admission"
CALLS = "/api/v1/namespaces/kube-system/services/gpu-admission:3456/proxy/calls"
JOBS = "/apis/example.com/v1/namespaces/default/stickyjobs"
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/stickyjobs.example.com"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def demo_for(cluster: Cluster, recipe: Recipe, name: str) -> str:
    """The demo scheduler in the registry, under a tag of its own: by the recipe's a node may know
    something else already, and what is there is not pulled again."""
    image = f"registry.example.com/{name}:v{cluster.version.release}"
    recipe.edit(f"registry.example.com/{name}:v1.34.2", image)
    return demo.push_demo(cluster.version, image)


def demo_only(cluster: Cluster) -> None:
    if cluster.version.release != demo.demo_release():
        pytest.skip(f"the demo scheduler is of Kubernetes {demo.demo_release()}")


@pytest.mark.parametrize(
    "way",
    [
        "image",
        pytest.param("archive", marks=pytest.mark.full),
        pytest.param("binary", marks=pytest.mark.full),
    ],
)
def test_gpumps(cluster: Cluster, tmp_path: Path, way: str) -> None:
    """A scheduler with a plugin of one's own, from a registry, from an archive, or as a binary."""
    demo_only(cluster)
    recipe = Recipe.init(cluster, tmp_path, "gpumps")
    recipe.probe_on_fake_nodes("gpumps/mps.yaml", expect="gpu-2")
    named_image = "image: registry.example.com/kube-scheduler-gpumps:v1.34.2"
    if way == "image":
        demo_for(cluster, recipe, "kube-scheduler-gpumps")
    elif way == "archive":
        # A name that no registry of the rig has.
        held = "registry.example.com/only-in-the-archive:v1.34.4"
        demo.demo_archive(cluster.version, tmp_path / "scheduler.tar", held)
        recipe.edit(named_image, "imageArchive: ./scheduler.tar")
    else:
        binary = demo.demo_binary(cluster.version)
        recipe.edit(named_image, f"binary: {binary}")
    before = {node.name: standing(node) for node in cluster.nodes}
    nodes = ["gpu-1", "gpu-2", "gpu-3"]
    table = {"gpu-1": (48, 40), "gpu-2": (48, 2), "gpu-3": (48, 30)}
    with fake_nodes(cluster.api, nodes), demo.device_plugins(cluster.nodes, table):
        recipe.apply()
        verified = recipe.verify("--probe")
        assert verified.said.code == 0, verified.said.out + verified.said.err
        for subject in ("plugin GPUMPSPlugin", "socket", "log line", "probe pod", "mounts"):
            assert verified.states(subject) == {"ok"}, (subject, verified.of(subject))
        if way == "image":
            say_what_is_at_fault(cluster, recipe)
    recipe.rollback()
    cluster.wait_schedulers()
    for node in cluster.nodes:
        assert standing(node).uid == before[node.name].uid
        assert traces(node) == []


def say_what_is_at_fault(cluster: Cluster, recipe: Recipe) -> None:
    """Without -f: the nodes keep the patch. A device plugin that is gone is named as that."""
    [first, *_] = cluster.nodes
    first.run("systemctl stop rig-deviceplugin")
    verified = recipe.verify(file=False)
    assert verified.said.code == exitcodes.DIFFERENCES, verified.said.out
    assert verified.codes & {"N130", "N131"}, verified.codes
    failed = {check["node"] for check in verified.of("socket") if check["state"] == "failed"}
    assert failed == {first.name}


def test_namescore(cluster: Cluster, tmp_path: Path) -> None:
    """A profile of its own name beside the default one."""
    demo_only(cluster)
    recipe = Recipe.init(cluster, tmp_path, "namescore")
    demo_for(cluster, recipe, "kube-scheduler-namescore")
    recipe.probe_on_fake_nodes("namescore/busybox-test-scheduler.yaml")
    with fake_nodes(cluster.api, ["k8s-node01", "k8s-node02", "k8s-node03"]):
        recipe.apply()
        verified = recipe.verify("--probe")
        assert verified.said.code == 0, verified.said.out + verified.said.err
        assert verified.states("plugin NameScore") == {"ok"}
        assert any("k8s-node02" in check["evidence"] for check in verified.of("probe pod"))
        with pod(cluster, "by-the-default"):
            assert scheduled_by(cluster, "by-the-default") == "default-scheduler"
    recipe.rollback()


def gpu_admission(cluster: Cluster, recipe: Recipe) -> None:
    """The recipe's manifest with the demo's extender, which prefers one node."""
    demo.push_extender(EXTENDER)
    objects = demo.extender_objects(EXTENDER, prefer="vgpu-2")
    for item in objects:
        if item["kind"] == "Deployment":
            # Nothing runs on the nodes that exist in the API only.
            selector = {"node-role.kubernetes.io/control-plane": ""}
            item["spec"]["template"]["spec"]["nodeSelector"] = selector
    file = recipe.directory / "gpu-admission" / "gpu-admission.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(demo.manifest(objects))


VGPU = {"nvidia.com/vcuda-core": "100", "nvidia.com/vcuda-memory": "100"}
ASKS = {"limits": {"nvidia.com/vcuda-core": "10", "nvidia.com/vcuda-memory": "10"}}


def extender_decides(cluster: Cluster, name: str) -> None:
    with pod(cluster, name, resources=ASKS) as placed, pod(cluster, f"{name}-plain"):
        assert node_of(placed) == "vgpu-2"
        called = cluster.api.get(CALLS)["pods"]
        assert called[f"default/{name}"].keys() >= {"predicates", "priorities"}
        assert f"default/{name}-plain" not in called


def test_gpu_admission(cluster: Cluster, tmp_path: Path) -> None:
    """An extender behind its Service name: asked, not asked, and down."""
    recipe = Recipe.init(cluster, tmp_path, "gpu-admission")
    gpu_admission(cluster, recipe)
    with fake_nodes(cluster.api, ["vgpu-1", "vgpu-2", "vgpu-3"], resources=VGPU):
        recipe.apply()
        verified = recipe.verify()
        assert verified.said.code == 0, verified.said.out + verified.said.err
        assert verified.states("extender") == {"ok"}
        extender_decides(cluster, "wants-a-gpu")

        cluster.api.patch(DEPLOYMENT, {"spec": {"replicas": 0}})
        wait_until("its end", lambda: not _replicas(cluster), 60)
        with pod(cluster, "without-an-extender", resources=ASKS) as placed:
            assert node_of(placed)
        down = recipe.verify()
        assert "N138" in down.codes, down.said.out
        cluster.api.patch(DEPLOYMENT, {"spec": {"replicas": 1}})
    back = recipe.rollback()
    # Others have written to it since (its replicas, above): their work is named and left to them.
    assert "Deployment kube-system/gpu-admission" in back.out + back.err
    assert not cluster.api.exists(SERVICE)
    cluster.api.delete(DEPLOYMENT)


def _replicas(cluster: Cluster) -> int:
    return int(cluster.api.get(DEPLOYMENT)["status"].get("replicas", 0))


POLICY = """{
  "kind": "Policy", "apiVersion": "v1",
  "extenders": [{
    "urlPrefix": "http://gpu-admission.kube-system:3456/scheduler",
    "filterVerb": "predicates", "prioritizeVerb": "priorities", "weight": 1,
    "enableHttps": false, "nodeCacheCapable": false, "ignorable": true,
    "managedResources": [
      {"name": "nvidia.com/vcuda-core", "ignoredByScheduler": false},
      {"name": "nvidia.com/vcuda-memory", "ignoredByScheduler": true}
    ]
  }]
}
"""
FROM_POLICY = """apiVersion: kschedpatch.io/v1
kind: SchedulerPatch
metadata: {name: from-policy}
spec:
  objects: [./gpu-admission/gpu-admission.yaml]
  config: {file: ./config.yaml}
"""


def test_gpu_admission_from_a_policy(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text(POLICY)
    minor = cluster.version.minor
    migrated = kschedpatch(
        cluster, "migrate", "-f", str(tmp_path / "policy.json"), "--to", minor, "--accept-changes"
    )
    assert migrated.code == 0, migrated.err
    (tmp_path / "config.yaml").write_text(migrated.out)
    (tmp_path / "from-policy.yaml").write_text(FROM_POLICY)
    recipe = Recipe(cluster, tmp_path, "from-policy")
    gpu_admission(cluster, recipe)
    with fake_nodes(cluster.api, ["vgpu-1", "vgpu-2", "vgpu-3"], resources=VGPU):
        recipe.apply()
        extender_decides(cluster, "by-policy")
    recipe.rollback()
    assert not cluster.api.exists(DEPLOYMENT)


@contextmanager
def one_is_filled(cluster: Cluster) -> Iterator[None]:
    """Two nodes, the first with much on it: who packs goes there, who spreads does not."""
    much = {"requests": {"cpu": "20", "memory": "40Gi"}}
    with (
        fake_nodes(cluster.api, ["filled", "empty"]),
        pod(cluster, "filling", resources=much, nodeName="filled"),
    ):
        yield


def test_bin_packing(cluster: Cluster, tmp_path: Path) -> None:
    """The stock scheduler, recombined."""
    recipe = Recipe.init(cluster, tmp_path, "bin-packing")
    recipe.probe_on_fake_nodes("bin-packing/nginx-default.yaml", expect="empty")
    recipe.probe_on_fake_nodes("bin-packing/nginx-custom.yaml", expect="filled")
    with one_is_filled(cluster):
        recipe.apply()
        verified = recipe.verify("--probe")
    assert verified.said.code == 0, verified.said.out + verified.said.err
    assert verified.states("probe pod") == {"ok"}
    for name in ("nginx-default", "nginx-custom"):
        assert name in str(verified.of("probe pod"))
    assert "my-custom-scheduler" in str(verified.of("profile"))
    arguments = [check for check in verified.of("arguments") if "VolumeBinding" in str(check)]
    assert arguments, verified.checks
    assert {check["state"] for check in arguments} == {"ok"}
    assert "60" in str(arguments), arguments
    recipe.rollback()


def test_a_sticky_plugin(cluster: Cluster, tmp_path: Path) -> None:
    """With a CRD: pods of a job go back to the node where it ran last."""
    demo_only(cluster)
    recipe = Recipe.init(cluster, tmp_path, "bin-packing")
    demo_for(cluster, recipe, "kube-scheduler-sticky")
    recipe.edit("          # multiPoint:", "          multiPoint:")
    text = recipe.file.read_text()
    head, mark, rest = text.partition("  # scheduler:\n")
    block, blank, tail = rest.partition("\n\n")
    block = (mark + block).replace("\n  # ", "\n  ").replace("  # scheduler", "  scheduler")
    recipe.file.write_text(head + block + blank + tail)
    labels = {"labels": {"example.com/stickyjob": "train"}}
    who = {"schedulerName": "my-custom-scheduler", "metadata": labels}
    with fake_nodes(cluster.api, ["sticky-1", "sticky-2", "sticky-3"]):
        recipe.apply()
        metadata = {"name": "train"}
        job = {"apiVersion": "example.com/v1", "kind": "StickyJob", "metadata": metadata}
        cluster.api.create(JOBS, {**job, "spec": {"template": {}}})
        with pod(cluster, "first", nodeSelector={"kubernetes.io/hostname": "sticky-2"}, **who):
            wait_until("lastNode", lambda: _last_node(cluster) == "sticky-2", 30)
        with pod(cluster, "second", **who) as second:
            assert node_of(second) == "sticky-2"
    back = recipe.rollback()
    # What it holds would go with it.
    assert cluster.api.exists(CRD)
    assert "stickyjobs.example.com" in back.out + back.err
    cluster.api.delete(CRD)


def _last_node(cluster: Cluster) -> str:
    return str(cluster.api.get(named(JOBS, "train")).get("status", {}).get("lastNode", ""))


def test_alnair(cluster: Cluster, tmp_path: Path) -> None:
    """A plugin that writes to pods, and what goes wrong around it."""
    demo_only(cluster)
    recipe = Recipe.init(cluster, tmp_path, "alnair")
    demo_for(cluster, recipe, "alnair-scheduler")
    recipe.probe_on_fake_nodes("alnair/timestamped.yaml")
    with fake_nodes(cluster.api, ["stamp-1", "stamp-2"]):
        recipe.apply()
        verified = recipe.verify("--probe")
        assert verified.said.code == 0, verified.said.out + verified.said.err
        assert verified.states("probe pod") == {"ok"}
        assert verified.states("right") == {"ok"}
        with pod(cluster, "stamped"):
            stamp = wait_for("the stamp", lambda: stamp_of(cluster, "stamped"), 20, 0.3)
        assert int(stamp) > 10**18
    with fake_nodes(cluster.api, ["alone"]):
        # The score phase is skipped: a warning that says so, and no failure.
        alone = recipe.verify("--probe")
        assert (alone.said.code, "N145" in alone.codes) == (0, True), alone.said.out
    without_rights(cluster, recipe)
    recipe.rollback()
    assert not cluster.api.exists(named(ROLES, "kschedpatch:alnair"))


def stamp_of(cluster: Cluster, name: str) -> str | None:
    """The plugin writes it beside the scheduling: the pod may be bound before."""
    metadata = cluster.api.get(named(PODS, name))["metadata"]
    stamp: str | None = metadata.get("annotations", {}).get("Scheduler-Timestamp")
    return stamp


def without_rights(cluster: Cluster, recipe: Recipe) -> None:
    """Somebody took the role away: the scheduler looks healthy, and pods lack their stamp."""
    cluster.api.delete(named(ROLES, "kschedpatch:alnair"))
    with fake_nodes(cluster.api, ["stamp-1", "stamp-2"]):
        verified = recipe.verify("--probe")
    assert verified.said.code == exitcodes.DIFFERENCES
    assert {"N136", "N144"} <= verified.codes, verified.said.out


MISTAKES = {
    # In the arguments of a plugin whose type is registered for v1 alone.
    "args: {apiVersion: kubescheduler.config.k8s.io/v1beta3, kind: SchedulerTimestampArgs}": (
        "apiVersion or kind in the plugin's arguments is wrong",
        "does not register SchedulerTimestampArgs",
    ),
    # In the container there is what is mounted, and nothing else.
    "args: {kubeconfig: /etc/kubernetes/alnair.conf}": ("there is no /etc/kubernetes/alnair.conf",),
}


def test_alnairs_catches(cluster: Cluster, tmp_path: Path) -> None:
    """What the write-up's readers stumble over: each is named before a scheduler is touched."""
    demo_only(cluster)
    recipe = Recipe.init(cluster, tmp_path, "alnair")
    demo_for(cluster, recipe, "alnair-scheduler")
    before = {node.name: standing(node) for node in cluster.nodes}
    good = recipe.file.read_text()

    for mistake, told in MISTAKES.items():
        lines = f"        pluginConfig:\n        - name: SchedulerTimestamp\n          {mistake}\n"
        recipe.file.write_text(good.replace("        plugins:\n", f"{lines}        plugins:\n", 1))
        refused = recipe.refused()
        for words in told:
            assert words in refused, refused

    # Rights that the scheduler's pod brings along, and a configuration that the kubelet would run.
    [first, *_] = cluster.nodes
    recipe.file.write_text(good)
    role = "---\nkind: ClusterRole\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: x}\n"
    first.put_manifest(before[first.name].manifest + role.encode())
    assert "Y013" in recipe.refused()
    first.put_manifest(before[first.name].manifest)
    stray = "/etc/kubernetes/manifests/scheduler-config.yaml"
    first.run(f"cat > {stray}", stdin=b"kind: KubeSchedulerConfiguration\n")
    try:
        assert "M018" in recipe.planned()
    finally:
        first.run(f"rm -f {stray}")

    # A profile that no pod asks for unless it names it.
    recipe.edit("schedulerName: default-scheduler", "schedulerName: alnair")
    assert "C015" in recipe.planned()
    for node in cluster.nodes:
        assert standing(node).uid == before[node.name].uid
        assert traces(node) == []
