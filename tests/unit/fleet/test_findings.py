"""Facts in, findings out: what is told about nodes before they are changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedpatch.model.facts import LivePod
from kschedpatch.model.finding import Finding
from kschedpatch.model.kubeversion import KubeVersion
from tests.unit.fleet.nodes import TOOLS, Node, kubeadm_manifest, node, three
from tests.unit.fleet.test_planning import VERBOSE, planned

Change = Callable[[Node], Node]
PATH = "/etc/kubernetes/manifests/kube-scheduler.yaml"
STOCK = "registry.k8s.io/kube-scheduler:v1.34.11"

# code, where, words of the message, what is different about the node
ONE_NODE: list[tuple[str, str, str, Change]] = [
    ("N001", f"cp1:{PATH}", "no such file", lambda n: n.without_manifest()),
    ("N002", f"cp1:{PATH}", "symlink", lambda n: n.without_manifest("symlink")),
    ("N002", f"cp1:{PATH}", "mount point", lambda n: n.but(manifest_problem="mount")),
    ("N002", f"cp1:{PATH}", "can't be read", lambda n: n.without_manifest("unreadable")),
    (
        "M026",
        "cp1:/etc/kubernetes/manifests/kube-scheduler.yaml.bak",
        "the kubelet runs kube-scheduler.yaml.bak",
        lambda n: n.beside("kube-scheduler.yaml.bak", kubeadm_manifest(34)),
    ),
    (
        "M018",
        "cp1:/etc/kubernetes/manifests/scheduler-config.yaml",
        "is a KubeSchedulerConfiguration",
        lambda n: n.beside("scheduler-config.yaml", b"kind: KubeSchedulerConfiguration\n"),
    ),
    (
        "N007",
        "cp1",
        "kubeadm upgrade apply",
        lambda n: n.but(kubeadm_at_work="kubeadm upgrade apply"),
    ),
    (
        "N008",
        "cp1",
        "apply 20261116-204512-3fa9 by ada, switched; the node restores by itself in 42 s",
        lambda n: n.open_run(),
    ),
    ("N008", "cp1", "deadline has passed", lambda n: n.open_run(deadline_in=-3)),
    ("N008", "cp1", "nothing on the node counts", lambda n: n.open_run(dead_man=False)),
    ("N009", "cp1", "format 2", lambda n: n.but(state_format=2)),
    ("N010", "cp1", "kubelet --version", lambda n: n.but(kubelet=None)),
    ("V001", f"cp1:{PATH}", "1.99 is not supported", lambda n: n.but(kubelet=KubeVersion(99))),
    (
        "N011",
        "cp1:/var/lib",
        "12 KiB are free, 1024 KiB are needed",
        lambda n: n.but(free_kib={"/var/lib": 12}),
    ),
    ("N015", "cp1", STOCK, lambda n: n.but(images={STOCK: False})),
    ("N016", "cp1", "curl", lambda n: n.but(tools=TOOLS - {"curl"})),
    ("N017", "cp1", "reboot", lambda n: n.but(has_systemd=False)),
    ("N018", "cp1", "no journalctl", lambda n: n.but(tools=TOOLS - {"journalctl"})),
    ("N018", "cp1", "no crictl", lambda n: n.but(tools=TOOLS - {"crictl"})),
    ("N020", "", "API server", lambda n: n.but(api_answers=False)),
    ("N022", "cp1", "no scheduler runs", lambda n: n.but(live=None)),
    ("N022", "cp1", "restarts: 3", lambda n: n.but(live=LivePod("0f4c", 4711, 3, ready=False))),
    (
        "N023",
        "cp1:/etc/kubernetes/manifests",
        ".kschedpatch-x.new",
        lambda n: n.but(leftovers=(".kschedpatch-x.new",)),
    ),
]


@pytest.mark.parametrize("code, where, words, change", ONE_NODE)
def test_one_thing_is_wrong_with_a_node(code: str, where: str, words: str, change: Change) -> None:
    (finding,) = planned(VERBOSE, change(node("cp1"))).findings
    assert (finding.code, finding.file) == (code, where)
    assert words in finding.message


def test_a_healthy_node_has_no_findings() -> None:
    assert planned(VERBOSE, node("cp1")).findings == ()


def codes(spec: dict[str, Any], *nodes: Node, partial: bool = False) -> list[str]:
    return [finding.code for finding in planned(spec, *nodes, partial=partial).findings]


def only(code: str, spec: dict[str, Any], *nodes: Node) -> Finding:
    (finding,) = [item for item in planned(spec, *nodes).findings if item.code == code]
    return finding


def test_without_any_runner_there_is_no_preflight() -> None:
    assert codes({}, node("cp1").but(tools=frozenset({"curl", "journalctl"}))) == ["N019", "N018"]


def test_control_plane_nodes_that_were_not_named() -> None:
    cp1, _, cp3 = three()
    finding = only("N005", {}, cp1, cp3)
    assert finding.message == "the cluster has more control-plane nodes: cp2 (10.0.0.1)"
    assert codes({}, cp1, cp3, partial=True) == ["N006"]


def test_the_same_machine_under_two_names() -> None:
    again = node("cp1").but(label="10.0.0.1")
    assert "cp1 and 10.0.0.1 are one machine" in only("N004", {}, node("cp1"), again).message


def test_cloned_machine_ids_are_not_the_same_machine() -> None:
    clone = node("cp2").but(machine_id=node("cp1").facts.machine_id)
    assert codes({}, node("cp1"), clone) == []


def test_a_node_of_another_cluster() -> None:
    one, other = node("a1").in_cluster_of("a1"), node("b1").in_cluster_of("b1")
    assert codes({}, one, other, partial=True).count("N027") == 2


def test_kubelets_of_different_minors() -> None:
    assert only("N012", {}, node("cp1"), node("cp2").at("1.33.4")).message == (
        "cp1 1.34.11, cp2 1.33.4"
    )


def test_one_api_server_that_answers_is_enough() -> None:
    assert codes({}, node("cp1").but(api_answers=False), node("cp2")) == []


def test_objects_need_the_api_server() -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    silent = node("cp1").but(api_answers=False)
    assert codes({"rbac": {"rules": [rule]}}, silent) == ["N021"]


def test_a_missing_mount_path_is_told_at_the_patchs_line() -> None:
    spec = {"mounts": [{"name": "x", "hostPath": "/x", "type": "Directory"}]}
    finding = only("N013", spec, node("cp1").but(path_types={"/x": "Missing"}))
    assert finding.message == "on the node, /x does not exist"
    assert finding.path == "spec.mounts[0].hostPath"


@pytest.mark.parametrize("kind", ["DirectoryOrCreate", None])
def test_what_the_kubelet_makes_itself_may_be_missing(kind: str | None) -> None:
    spec = {"mounts": [{"name": "x", "hostPath": "/x", **({"type": kind} if kind else {})}]}
    missing = node("cp1").but(path_types={"/x": "Missing"})
    assert ("N013" in codes(spec, missing)) is (kind is None)


def test_a_new_image_that_is_not_there_yet_is_only_a_note() -> None:
    image = "registry.example.net/kube-scheduler:v1.34.2"
    finding = only("N014", {"scheduler": {"image": image}}, node("cp1").but(images={image: False}))
    assert finding.message == f"{image} has to be pulled"


def test_a_generation_that_does_not_fit_on_the_disk() -> None:
    tight = node("cp1").but(free_kib={"/etc/kubernetes/manifests": 1030})
    given = {"files": [{"source": "big", "mountPath": "/big"}]}
    plan = planned(given, tight, big="x" * 64 * 1024)
    assert [finding.code for finding in plan.findings] == ["N011"]


def test_another_lease_with_a_shared_profile_name() -> None:
    spec = {"config": {"inline": {"leaderElection": {"resourceName": "mine"}}}}
    assert "kube-system/mine" in only("N024", spec, node("cp1")).message
    own = {**spec["config"]["inline"], "profiles": [{"schedulerName": "mine"}]}
    assert "N024" not in codes({"config": {"inline": own}}, node("cp1"))


def test_no_election_with_several_nodes() -> None:
    spec = {"scheduler": {"args": {"leader-elect": "false"}}}
    assert "N024" in codes(spec, node("cp1"), node("cp2"))
    assert "N024" not in codes(spec, node("cp1"))


def test_a_manifest_that_was_changed_by_hand_after_a_run() -> None:
    patched = node("cp1").after(planned(VERBOSE, node("cp1")))
    assert patched.facts.manifest is not None
    edited = patched.facts.manifest.content.replace(b"--v=5", b"--v=6")
    plan = planned(VERBOSE, patched.with_manifest(edited))
    assert [finding.code for finding in plan.findings] == ["N028"]
    assert plan.changed


def test_a_scheduler_that_serves_nothing() -> None:
    manifest = kubeadm_manifest(34).decode()
    head, _, rest = manifest.partition("    livenessProbe:")
    bare = (
        head
        + "    name: kube-scheduler\n"
        + "    volumeMounts:"
        + rest.split("    volumeMounts:")[1]
    )
    spec = {"scheduler": {"args": {"secure-port": "0"}}}
    assert codes(spec, node("cp1").with_manifest(bare.encode())) == ["N026"]
