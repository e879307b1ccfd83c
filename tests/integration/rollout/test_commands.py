"""plan, apply, verify, status, history and rollback as a user types them, on simulated nodes."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.model.events import Listener
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.rollout.fleet import Fleet
from tests.integration.rollout.rig import RBAC, Rig, assert_clean, patch, tree_of
from tests.unit.command_line import Ran, run

QUICK = ("--settle", "1", "--confirm-timeout", "900", "--timeout", "90")
BARE = (*QUICK, "--no-preflight", "--no-canary", "--no-probe")


class Desk:
    """An operator with a patch file, and sandbox nodes at the other end."""

    def __init__(self, rig: Rig, directory: Path) -> None:
        self.rig = rig
        self.directory = directory
        self.names = [node.name for node in rig.nodes]
        self.file = directory / "patch.yaml"

    def writes(self, text: bytes) -> str:
        self.file.write_bytes(text)
        return str(self.file)

    def types(self, command: str, *arguments: str, nodes: Sequence[str] | None = None) -> Ran:
        return run(command, *(self.names if nodes is None else nodes), *arguments)

    def data(self, command: str, *arguments: str) -> dict[str, Any]:
        ran = self.types(command, *arguments, "-o", "json")
        body: dict[str, Any] = json.loads(ran.out)
        assert body["exitCode"] == ran.code
        return body


@pytest.fixture
def desk(three: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    def opened(
        addresses: Sequence[NodeAddress], _options: object, _become: object, *, listener: Listener
    ) -> Fleet:
        return Fleet(addresses, three.opened, listener)

    monkeypatch.setattr("kschedpatch.rollout.fleet.open_fleet", opened)
    monkeypatch.setenv("COLUMNS", "80")
    desk = Desk(three, tmp_path)
    yield desk
    three.rollback("original")
    assert_clean(three)


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

    other = desk.directory / "other.yaml"
    other.write_bytes(patch(desk.rig.fresh_v()))
    different = desk.types("verify", "-f", str(other))
    assert different.code == 1
    assert "N108" in different.out

    back = desk.data("rollback", "--yes", *QUICK)
    assert (back["exitCode"], back["changed"]) == (0, True)
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
