"""purge on simulated nodes: refused while anything needs it, and afterwards no trace is left."""

from __future__ import annotations

from pathlib import Path

from kschedpatch.core.fleet.purging import traces
from kschedpatch.rollout.nodepurge import NodesPurge, purge_nodes
from kschedpatch.sandbox.node import SandboxNode
from tests.integration.rollout.desk import BARE, QUICK, Desk
from tests.integration.rollout.rig import CONFIG, RBAC, lives, patch, transaction, tree_of

ROLE = "kschedpatch:trial"


def own_files(node: SandboxNode) -> list[str]:
    """By name; the logs of a pod are the kubelet's."""
    return sorted(
        str(path.relative_to(node.path("/")))
        for path in node.path("/").rglob("*kschedpatch*")
        if "pods" not in path.parts and "proc" not in path.parts
    )


def roles(desk: Desk) -> list[object]:
    with desk.rig.sandbox.simulation.lock:
        api = desk.rig.sandbox.api
        return [api.find(kind, ROLE) for kind in ("ClusterRole", "ClusterRoleBinding")]


def leave(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("left")


def test_everything_goes_once_nothing_needs_it(desk: Desk) -> None:
    file = desk.writes(patch(desk.rig.fresh_v(), rest=CONFIG + RBAC))
    assert desk.types("apply", "-f", file, "--yes", *BARE).code == 0
    before = [tree_of(node.path("/")) for node in desk.rig.nodes]
    refused = desk.types("purge", "--yes")
    assert refused.code == 3
    assert "N401" in refused.err
    assert "Nothing was changed." in refused.err
    assert [tree_of(node.path("/")) for node in desk.rig.nodes] == before

    assert desk.types("rollback", "--to", "original", "--yes", *QUICK).code == 0
    alive = [lives(node) for node in desk.rig.nodes]
    node = desk.rig.node
    leave(node.manifest.with_name(".kschedpatch-20260101-000000-0000.new"))
    leave(node.path("/etc/kubernetes/kschedpatch/generations/.new-20260101-000000-0000/x"))
    asked = desk.types("purge")
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert "/var/lib/kschedpatch" in asked.err
    assert own_files(node) != []

    some = desk.types("purge", "--yes", nodes=desk.names[:1])
    assert (some.code, "N005" in some.err) == (3, True)
    done = desk.data("purge", "--yes")
    assert (done["exitCode"], done["changed"]) == (0, True)
    assert [item["problem"] for item in done["nodes"]] == [None] * 3
    assert [own_files(node) for node in desk.rig.nodes] == [[], [], []]
    assert [lives(node) for node in desk.rig.nodes] == alive, "no scheduler was touched"
    assert {item["state"] for item in desk.data("status")["nodes"]} == {"un-patched"}
    assert desk.data("history")["runs"] == []
    again = desk.types("purge", "--yes")
    assert (again.code, again.out) == (0, "Nothing of kschedpatch is on these nodes.\n")
    assert [own_files(node) for node in desk.rig.nodes] == [[], [], []]


def test_the_node_itself_refuses_what_a_scheduler_needs(desk: Desk) -> None:
    """Somebody may have applied a patch since the operator looked."""
    file = desk.writes(patch(desk.rig.fresh_v(), rest=CONFIG))
    assert desk.types("apply", "-f", file, "--yes", *BARE).code == 0
    before = [own_files(node) for node in desk.rig.nodes]
    with desk.rig.fleet() as fleet:
        done = purge_nodes(fleet, NodesPurge(traces(fleet.look())), "ops@desk")
    assert done.exit_code == 5
    assert all("kube-scheduler.yaml is patched" in node.problem for node in done.nodes)
    assert [own_files(node) for node in desk.rig.nodes] == before
    assert desk.types("verify").code == 0


def test_a_purge_that_was_cut_off_is_taken_up(desk: Desk) -> None:
    (desk.rig.node.path("/var/lib/kschedpatch") / "ended").mkdir(parents=True)
    leave(desk.rig.nodes[1].path("/etc/systemd/system/kschedpatch-deadman.service"))
    assert desk.types("purge", "--yes").code == 0
    assert [own_files(node) for node in desk.rig.nodes] == [[], [], []]


def test_objects_of_a_patch_that_was_wiped_go_too(desk: Desk) -> None:
    stock = desk.rig.manifests()
    file = desk.writes(patch(desk.rig.fresh_v(), rest=CONFIG + RBAC))
    assert desk.types("apply", "-f", file, "--yes", *BARE).code == 0
    for node, content in zip(desk.rig.nodes, stock, strict=True):
        assert content is not None
        node.manifest.write_bytes(content)
        assert node.wait_ready(60)
    assert None not in roles(desk)
    desk.rig.sandbox.api_down()
    try:
        blind = desk.types("purge", "--yes")
        assert (blind.code, "N068" in blind.err) == (3, True)
    finally:
        desk.rig.sandbox.api_up()
    assert own_files(desk.rig.node) != []
    lock = transaction(desk.rig.node)
    lock.mkdir()
    (lock / "run").write_text("20260101-000000-0000\n")
    (lock / "deadline").write_text("99999999\n")
    (lock / "boot").write_text(desk.rig.node.path("/proc/sys/kernel/random/boot_id").read_text())
    locked = desk.types("purge", "--yes")
    assert (locked.code, "N008" in locked.err) == (3, True), locked.err
    (lock / "deadline").write_text("1\n")  # the lock of a run that died
    done = desk.types("purge", "--yes")
    assert done.code == 0, done.err
    assert f"ClusterRole {ROLE}: delete" in done.out
    assert roles(desk) == [None, None]
    assert [own_files(node) for node in desk.rig.nodes] == [[], [], []]


def test_a_run_after_a_purge_is_the_first_one(desk: Desk) -> None:
    for _ in range(2):
        file = desk.writes(patch(desk.rig.fresh_v(), rest=CONFIG))
        applied = desk.types("apply", "-f", file, "--yes", *BARE)
        assert applied.code == 0, applied.err
        assert len(desk.data("history")["runs"]) == 1
        assert desk.types("rollback", "--yes", *QUICK).code == 0
        assert desk.types("purge", "--yes").code == 0
