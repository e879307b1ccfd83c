"""plan, apply, verify, status, history and rollback as a user types them, on simulated nodes."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from kschedpatch.sandbox.sandbox import Sandbox
from tests.artefacts import docker_archive
from tests.integration.rollout.desk import BARE, QUICK, Desk, sat_down
from tests.integration.rollout.rig import RBAC, SPEED, Rig, patch, tree_of


def test_a_whole_working_day(desk: Desk) -> None:
    file = desk.writes(patch(desk.rig.fresh_v(), rest=RBAC))
    before = [tree_of(node.path("/")) for node in desk.rig.nodes]
    planned = desk.types("plan", "-f", file, "--exit-code")
    assert planned.code == 1, planned.err
    assert "What will happen:" in planned.out
    assert [tree_of(node.path("/")) for node in desk.rig.nodes] == before

    refused = desk.types("apply", "-f", file, *QUICK)
    assert (refused.code, refused.out) == (2, "")
    assert "--yes" in refused.err

    applied = desk.types("apply", "-f", file, "--yes", "--reason", "a trial", *QUICK)
    assert applied.code == 0, applied.err
    assert "Applied, proven and confirmed on" in applied.out
    assert "scheduler proven" in applied.err

    status = desk.data("status")
    assert {node["state"] for node in status["nodes"]} == {"as left"}
    assert {node["patch"] for node in status["nodes"]} == {"trial"}
    assert sum(node["leads"] for node in status["nodes"]) == 1
    assert desk.types("verify").code == 0
    assert desk.types("verify", "-f", file).code == 0
    (newest, *_) = desk.data("history")["runs"]
    assert {node["reason"] for node in newest["nodes"]} == {"a trial"}
    assert len(newest["changes"]["objects"]) == 2
    assert "2 objects changed; a trial" in desk.types("history").out

    other = desk.directory / "other.yaml"
    other.write_bytes(patch(desk.rig.fresh_v()))
    different = desk.types("verify", "-f", str(other))
    assert different.code == 1
    assert "N108" in different.out

    patched = desk.rig.manifests()
    looked = desk.data("rollback", "--dry-run")
    assert (looked["kind"], looked["exitCode"], looked["changed"]) == ("RollbackPlan", 0, True)
    assert all("\n-    - --v=" in node["diff"] for node in looked["nodes"])
    assert len(looked["objectChanges"]) == 2
    assert "-    - --v=" in desk.types("rollback", "--dry-run").out
    assert desk.rig.manifests() == patched

    back = desk.data("rollback", "--yes", *QUICK)
    assert (back["exitCode"], back["changed"]) == (0, True)
    nothing = desk.data("rollback", "--to", "original", "--dry-run")
    assert (nothing["exitCode"], nothing["changed"]) == (0, False)
    again = desk.types("rollback", "--yes", *QUICK)
    assert again.code == 3
    assert "N201" in again.err


def test_a_second_apply_has_nothing_to_do(desk: Desk) -> None:
    file = desk.writes(patch(desk.rig.fresh_v()))
    assert desk.data("apply", "-f", file, "--yes", *BARE)["changed"] is True
    manifests = desk.rig.manifests()
    again = desk.types("apply", "-f", file)  # no --yes needed: there is nothing to ask
    assert (again.code, again.out) == (0, "Nothing to change: the nodes are as the patch asks.\n")
    assert desk.rig.manifests() == manifests


def test_a_kept_plan_is_carried_out_or_refused(desk: Desk) -> None:
    file = desk.writes(patch(desk.rig.fresh_v()))
    out = desk.directory / "plan.json"
    assert desk.types("plan", "-f", file, "--out", str(out)).code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    applied = desk.types("apply", "--plan", str(out), "--yes", *BARE, nodes=[])
    assert applied.code == 0, applied.err
    assert "canary" not in applied.err, "nobody is promised what is left out"
    stale = desk.types("apply", "--plan", str(out), "--yes", *BARE, nodes=[])
    assert stale.code == 3
    assert "the manifest has changed" in stale.err
    assert "Nothing was changed." in stale.err


def test_an_archive_in_a_kept_plan(desk: Desk) -> None:
    archive = docker_archive(desk.directory / "own.tar", "example.org/planned:v1")
    data = archive.read_bytes()
    file = desk.writes(patch(desk.rig.fresh_v(), scheduler="imageArchive: own.tar"))
    out = desk.directory / "plan.json"
    planned = desk.types("plan", "-f", file, "--out", str(out))
    assert planned.code == 0, planned.err
    assert "example.org/planned:v1 is uploaded to" in planned.out
    later = ("apply", "--plan", str(out), "--yes", *BARE)
    archive.write_bytes(data + b"\0")
    changed = desk.types(*later, nodes=[])
    assert (changed.code, "N303" in changed.err) == (2, True)
    assert "it is not the file that was planned with" in changed.err
    archive.unlink()
    gone = desk.types(*later, nodes=[])
    assert (gone.code, "there is no such file" in gone.err) == (2, True)
    assert "No node was contacted." in gone.err
    archive.write_bytes(data)
    applied = desk.types(*later, nodes=[])
    assert applied.code == 0, applied.err
    assert "own.tar: 0.0 of 0.0 MiB" in applied.err
    assert all(b"example.org/planned:v1" in (text or b"") for text in desk.rig.manifests())


def test_all_control_plane_nodes_have_to_be_named(desk: Desk) -> None:
    file = desk.writes(patch(desk.rig.fresh_v()))
    ran = desk.types("plan", "-f", file, nodes=desk.names[:1])
    assert ran.code == 3
    assert "N005" in ran.err
    for name in desk.names[1:]:
        assert name in ran.err
    assert desk.types("plan", "-f", file, "--partial", nodes=desk.names[:1]).code == 0


def test_the_first_node_is_asked_for_the_others(desk: Desk) -> None:
    file = desk.writes(patch(desk.rig.fresh_v()))
    ran = desk.types("plan", "-f", file, "--discover", nodes=desk.names[:1])
    assert (ran.code, "N005" in ran.err) == (0, False), ran.err
    for name in desk.names:
        assert name in ran.out


def test_progress_as_json_is_one_object_a_line(desk: Desk) -> None:
    ran = desk.types("status", "--progress", "json")
    events = [json.loads(line) for line in ran.err.splitlines()]
    assert {event["node"] for event in events} == set(desk.names)
    assert {event["phase"] for event in events} == {"connect", "facts"}


def test_a_change_by_hand_is_told_with_its_lines(desk: Desk) -> None:
    v = desk.rig.fresh_v()
    file = desk.writes(patch(v))
    assert desk.types("apply", "-f", file, "--yes", *BARE).code == 0
    node = desk.rig.nodes[0]
    content = node.manifest.read_bytes()
    node.manifest.write_bytes(content.replace(f"--v={v}".encode(), b"--v=1"))
    assert node.wait_ready(60)
    ran = desk.types("verify")
    assert ran.code == 1
    assert f"- - --v={v} │ + - --v=1" in " ".join(ran.out.split())
    assert "N107" in ran.out, "one node differs from the others"


def test_rollback_acts_on_the_nodes_it_reaches_and_names_the_others(desk: Desk) -> None:
    file = desk.writes(patch(desk.rig.fresh_v()))
    assert desk.types("apply", "-f", file, "--yes", *BARE).code == 0
    lost = desk.rig.nodes[-1]
    lost.power_off()
    try:
        ran = desk.types("rollback", "--yes", *QUICK)
    finally:
        lost.power_on()
    assert ran.code == 5
    assert f"Not reached, and as before: {lost.name}." in ran.out
    assert ran.out.endswith(f"  kschedpatch rollback {lost.name}\n")
    assert lost.wait_ready(60)
    mixed = desk.types("status")
    assert "N107" in mixed.err
    closed = desk.types("rollback", "--yes", *QUICK, nodes=[lost.name])
    assert closed.code == 0, closed.err
    assert "N107" not in desk.types("status").err


OBJECTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: extender, namespace: kube-system}
spec:
  selector: {matchLabels: {app: extender}}
  template:
    metadata: {labels: {app: extender}}
    spec: {containers: [{name: main, image: "IMAGE"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: extender-key, namespace: kube-system}
stringData: {key: tr0ub4dor}
"""
ENCODED = "dHIwdWI0ZG9y"


def with_objects(desk: Desk, v: int, image: str = "registry.local/extender:v1") -> str:
    (desk.directory / "objects.yaml").write_text(OBJECTS.replace("IMAGE", image))
    return desk.writes(patch(v, rest="  objects: [./objects.yaml]\n" + RBAC))


def test_objects_from_plan_to_rollback(desk: Desk) -> None:
    v = desk.rig.fresh_v()
    file = with_objects(desk, v)
    planned = desk.types("plan", "-f", file)
    assert "object: Deployment kube-system/extender: create (from ./objects.yaml)" in planned.out
    assert "(hidden)" in planned.out
    data = desk.data("plan", "-f", file)
    assert {item["action"] for item in data["objectChanges"]} == {"create"}

    applied = desk.types("apply", "-f", file, "--yes", "-v", *BARE)
    assert applied.code == 0, applied.err
    assert "Objects created: ClusterRole kschedpatch:trial" in applied.out
    assert "objects are ready" in applied.err
    again = desk.types("apply", "-f", file)
    assert (again.code, again.out) == (0, "Nothing to change: the nodes are as the patch asks.\n")
    same = desk.data("plan", "-f", file)
    assert (same["changed"], {item["action"] for item in same["objectChanges"]}) == (
        False,
        {"unchanged"},
    )

    newer = with_objects(desk, v, "registry.local/extender:v2")
    difference = desk.types("plan", "-f", newer, "--exit-code")
    assert difference.code == 1
    assert "extender:v1" in difference.out
    assert "no node is changed" in difference.out
    only = desk.data("apply", "-f", newer, "--yes", *BARE)
    assert (only["exitCode"], only["changed"]) == (0, True)
    assert {node["outcome"] for node in only["nodes"]} == {"unchanged"}
    assert only["conclusion"] == "Objects of the cluster were changed; no node had to be."

    back = desk.types("rollback", "--yes", *QUICK)
    assert back.code == 0, back.err
    assert "Objects changed: Deployment kube-system/extender." in back.out
    gone = desk.data("rollback", "--yes", *QUICK)
    assert {i["action"] for i in gone["objects"]} == {"delete"}
    everything = (planned, applied, difference, back)
    said = "".join(ran.out + ran.err for ran in everything) + json.dumps([data, only, gone])
    assert "tr0ub4dor" not in said
    assert ENCODED not in said


def test_objects_that_do_not_become_ready_are_refused_with_the_reason(desk: Desk) -> None:
    file = with_objects(desk, desk.rig.fresh_v(), "registry.local/unpullable:v1")
    ran = desk.types("apply", "-f", file, "--yes", "--objects-timeout", "5", *BARE)
    assert ran.code == 3
    assert "Failed while applying objects: the objects did not become ready." in ran.out
    assert "ImagePullBackOff" in ran.out
    assert "Nothing live was touched" in ran.out
    assert "waiting for Deployment kube-system/extender" in ran.err


def test_an_export_is_the_same_before_and_after_the_change(desk: Desk) -> None:
    file = desk.writes(patch(desk.rig.fresh_v(), rest=RBAC))
    directories = [desk.directory / name for name in ("before", "after")]
    for directory in directories:
        ran = desk.types("export", "-f", file, "--out", str(directory), nodes=["cp1"])
        assert ran.code == 0, ran.err
        if directory.name == "before":
            assert desk.types("apply", "-f", file, "--yes", *BARE).code == 0
    before, after = (
        {path.name: path.read_text() for path in directory.rglob("*.*")}
        for directory in directories
    )
    assert before == after


def test_what_changed_between_two_runs(desk: Desk) -> None:
    first, second = desk.rig.fresh_v(), desk.rig.fresh_v()
    for v in (first, second):
        file = desk.writes(patch(v))
        assert desk.types("apply", "-f", file, "--yes", *BARE).code == 0
    new, old, *_ = (run["run"] for run in desk.data("history")["runs"])
    ran = desk.types("history", "--diff", old, new)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("cp1, cp2, cp3:\n")  # the same on all of them is shown once
    changed = [line for line in ran.out.splitlines() if line.startswith(("-   ", "+   "))]
    assert changed == [f"-    - --v={first}", f"+    - --v={second}"]
    same = desk.types("history", "--diff", new, "now")
    assert same.out == f"cp1, cp2, cp3: {new} and now are the same\n"
    body = desk.data("history", "--diff", "original", "now")
    assert f"+    - --v={second}" in body["nodes"][0]["diff"]

    missing = desk.types("history", "--diff", "original", "2020-nothing")
    assert missing.code == 3
    assert "N202" in missing.err


def test_what_the_next_version_will_not_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before an upgrade: by the nodes' own version all is well."""
    inline = "apiVersion: kubescheduler.config.k8s.io/v1beta3, kind: KubeSchedulerConfiguration"
    with Sandbox(tmp_path / "nodes", nodes=1, minor=28, speed=SPEED) as sandbox:
        desk = sat_down(Rig(sandbox), tmp_path, monkeypatch)
        file = desk.writes(patch(4, rest=f"  config: {{inline: {{{inline}}}}}\n"))
        assert desk.types("plan", "-f", file).code == 0
        ahead = desk.types("plan", "-f", file, "--kubernetes-version", "1.29")
        assert ahead.code == 2
        assert "v1beta3" in ahead.err
        assert "kschedpatch migrate" in ahead.err
        kept = desk.types("plan", "-f", file, "--kubernetes-version", "1.29", "--out", "x.json")
        assert kept.code == 2
        assert "can't be applied" in kept.err
