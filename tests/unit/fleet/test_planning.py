"""plan_fleet: what is planned for each node, in which order, with which health and preflight."""

from __future__ import annotations

from typing import Any

from hypothesis import given as examples
from hypothesis import strategies as st

from kschedpatch.core.fleet.clusterrules import in_rollout_order
from kschedpatch.core.fleet.planning import plan_fleet
from kschedpatch.core.manifest.document import read_manifest
from kschedpatch.core.planner import plan_static_pod
from kschedpatch.model.fleetplan import FleetPlan, Health
from tests.unit.fleet.nodes import Node, kubeadm_manifest, node, three
from tests.unit.patches import patch_input

BARE = node("any")
VERBOSE = {"scheduler": {"args": {"v": "5"}}}


def planned(spec: dict[str, Any], *nodes: Node, partial: bool = False, **files: str) -> FleetPlan:
    given = patch_input(spec, name="mine", files=files)
    return plan_fleet(given, [item.facts for item in nodes], partial=partial)


def test_every_node_gets_what_render_makes_of_its_manifest() -> None:
    plan = planned(VERBOSE, *three())
    manifest = read_manifest(kubeadm_manifest(34), "any").manifest
    assert manifest is not None
    rendered = plan_static_pod(patch_input(VERBOSE, name="mine"), manifest)
    assert {item.after for item in plan.nodes} == {rendered.after}
    assert plan.findings == ()
    assert plan.changed


def test_the_holder_of_the_lease_comes_last_and_the_others_as_named() -> None:
    plan = planned(VERBOSE, *three())
    assert [item.label for item in plan.nodes] == ["cp1", "cp3", "cp2"]
    assert [item.leads for item in plan.nodes] == [False, False, True]


@examples(order=st.permutations(["cp1", "cp2", "cp3", "cp4"]), leader=st.sampled_from("1234"))
def test_wherever_the_leader_is_named_it_is_last(order: list[str], leader: str) -> None:
    nodes = [BARE.but(label=name, node_name=name).following(f"cp{leader}") for name in order]
    labels = [item.label for item in in_rollout_order([item.facts for item in nodes])]
    assert labels[-1] == f"cp{leader}"
    assert labels[:-1] == [name for name in order if name != f"cp{leader}"]


def test_a_leader_that_only_another_node_was_told_of() -> None:
    silent = node("cp1").but(lease_holder="", api_answers=False)
    plan = planned(VERBOSE, silent, node("cp2").following("cp1"))
    assert [item.label for item in plan.nodes] == ["cp2", "cp1"]


def test_a_second_plan_of_the_same_patch_changes_nothing() -> None:
    first = planned(VERBOSE, node("cp1"))
    again = planned(VERBOSE, node("cp1").after(first))
    assert not again.changed
    assert again.findings == ()


def test_another_patch_is_applied_to_the_base_not_to_the_patched_manifest() -> None:
    first = planned({"scheduler": {"env": [{"name": "TZ", "value": "UTC"}]}}, node("cp1"))
    (wanted,) = planned(VERBOSE, node("cp1").after(first)).nodes
    assert "TZ" in wanted.before
    assert "TZ" not in wanted.after
    assert "--v=5" in wanted.after


def test_a_patched_manifest_whose_base_is_lost_can_not_be_patched() -> None:
    patched = node("cp1").after(planned(VERBOSE, node("cp1"))).but(base=None)
    plan = planned({}, patched)
    assert [finding.code for finding in plan.findings] == ["N003"]
    assert plan.findings[0].file == "cp1:/etc/kubernetes/manifests/kube-scheduler.yaml"
    assert plan.nodes == ()


def test_health_is_asked_where_the_scheduler_serves() -> None:
    args = {"bind-address": "10.1.2.3", "secure-port": "10333"}
    (wanted,) = planned({"scheduler": {"args": args}}, node("cp1")).nodes
    assert wanted.health == Health("10.1.2.3", 10333, "/readyz", proves_readiness=True)
    assert wanted.health_before == Health("127.0.0.1", 10259, "/readyz", proves_readiness=True)


def test_before_1_31_health_proves_little() -> None:
    (wanted,) = planned(VERBOSE, node("cp1").at("1.30.4")).nodes
    assert wanted.health == Health("127.0.0.1", 10259, "/healthz", proves_readiness=False)


def test_everywhere_is_asked_on_the_loopback() -> None:
    args = {"bind-address": "0.0.0.0"}  # noqa: S104  a value of the patch
    (wanted,) = planned({"scheduler": {"args": args}}, node("cp1")).nodes
    assert wanted.health.host == "127.0.0.1"


def test_a_standby_that_waits_with_its_caches_is_only_asked_whether_it_lives() -> None:
    spec = {"config": {"inline": {"delayCacheUntilActive": True}}}
    (wanted,) = planned(spec, node("cp1")).nodes
    assert (wanted.health.path, wanted.health.proves_readiness) == ("/livez", False)
    assert wanted.health_before.path == "/readyz"


def test_preflight_runs_the_patched_scheduler_without_election_and_port() -> None:
    args = {"leader-elect-lease-duration": "20s", "secure-port": "10333", "v": "5"}
    spec = {
        "scheduler": {"args": args, "env": [{"name": "TZ", "value": "UTC"}]},
        "config": {"inline": {"parallelism": 8}},
    }
    (wanted,) = planned(spec, node("cp1")).nodes
    assert wanted.generation is not None
    preflight = wanted.preflight
    assert preflight.image == "registry.k8s.io/kube-scheduler:v1.34.11"
    assert preflight.command == (
        "kube-scheduler",
        "--authentication-kubeconfig=/etc/kubernetes/scheduler.conf",
        "--authorization-kubeconfig=/etc/kubernetes/scheduler.conf",
        "--bind-address=127.0.0.1",
        "--kubeconfig=/etc/kubernetes/scheduler.conf",
        "--v=5",
        "--config=/etc/kubernetes/kschedpatch/scheduler-config.yaml",
    )
    config = "/etc/kubernetes/kschedpatch/scheduler-config.yaml"
    assert preflight.mounts == (
        ("/etc/kubernetes/scheduler.conf", "/etc/kubernetes/scheduler.conf"),
        (f"{wanted.generation.directory}/scheduler-config.yaml", config),
    )
    assert preflight.env == (("TZ", "UTC"),)


def test_the_same_finding_on_several_nodes_is_told_once() -> None:
    nodes = [item.but(has_systemd=False) for item in three()]
    (finding,) = planned(VERBOSE, *nodes).findings
    assert (finding.code, finding.file) == ("N017", "cp1, cp3, cp2")


def test_a_finding_about_the_patch_names_the_nodes_that_it_holds_for() -> None:
    spec = {
        "mounts": [{"name": "x", "hostPath": "/x", "type": "Directory"}],
    }
    nodes = [node("cp1").but(path_types={"/x": "File"}), node("cp2")]
    (finding,) = [item for item in planned(spec, *nodes).findings if item.code == "N013"]
    assert finding.message == "on the node, /x is a file, not a directory (on cp1)"


def test_a_mount_without_a_type_takes_the_nodes() -> None:
    spec = {"mounts": [{"name": "sock", "hostPath": "/run/x.sock"}]}
    (wanted,) = planned(spec, node("cp1").but(path_types={"/run/x.sock": "Socket"})).nodes
    assert "type: Socket" in wanted.after


def test_roles_of_nodes_of_different_versions_are_joined() -> None:
    spec = {
        "scheduler": {"args": {"leader-elect-resource-name": "mine"}},
        "config": {"inline": {"profiles": [{"schedulerName": "mine"}]}},
    }
    plan = planned(spec, node("cp1").at("1.27.3"), node("cp2").at("1.28.3"))
    roles = [item.body for item in plan.rbac if item.body["kind"] == "Role"]
    assert [rule["resources"] for rule in roles[0]["rules"]] == [
        ["leases"],
        ["leases"],
        ["endpoints"],
        ["endpoints"],
    ]
    assert len(roles) == 1


def test_an_error_on_one_node_spoils_the_plan() -> None:
    assert not planned(VERBOSE, node("cp1"), node("cp2").without_manifest()).ok


def test_the_patch_is_kept_as_text() -> None:
    assert planned(VERBOSE, node("cp1")).patch_text == (
        "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata:\n  name: mine\n"
        'spec:\n  scheduler:\n    args:\n      v: "5"\n'
    )
