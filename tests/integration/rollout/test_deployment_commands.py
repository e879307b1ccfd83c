"""The commands for a scheduler that runs as a Deployment: through a node, or through kubectl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.model import exitcodes
from tests.integration.rollout.desk import Desk, sat_down
from tests.integration.rollout.rig import Rig, assert_clean, lives
from tests.unit.command_line import Ran, run
from tests.unit.report.pages import read

PATCH = b"""apiVersion: kschedpatch.io/v1
kind: SchedulerPatch
metadata: {name: packing}
spec:
  target: {newDeployment: kube-system/packer}
  scheduler: {args: {v: "LEVEL"}}
  config: {inline: {profiles: [{schedulerName: packing}]}}
"""
TARGET = ("--deployment", "kube-system/packer")
QUICK = ("--settle", "0", "--timeout", "20")


@pytest.fixture
def office(one: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    alive = lives(one.node)
    yield sat_down(one, tmp_path, monkeypatch)
    assert lives(one.node) == alive
    assert_clean(one)


class Here:
    """kubectl on the operator's machine: the node's, in the node's environment."""

    def __init__(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kubeconfig = desk.directory / "kubeconfig"
        self.kubeconfig.write_text("{}")
        program = desk.directory / "kubectl"
        words = " ".join(f"{k}='{v}'" for k, v in desk.rig.node.environment().items())
        program.write_text(f'#!/bin/sh\nexec env {words} kubectl "$@"\n')
        program.chmod(0o755)
        monkeypatch.setattr("kschedpatch.cluster.ownkubectl.PROGRAM", str(program))

        def nobody(*_: object, **__: object) -> None:
            raise AssertionError("no node is to be contacted")

        monkeypatch.setattr("kschedpatch.rollout.fleet.open_fleet", nobody)

    def types(self, command: str, *arguments: str) -> Ran:
        return run(command, "--kubeconfig", str(self.kubeconfig), *arguments)


def data(ran: Ran) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(ran.out)
    assert body["exitCode"] == ran.code
    return body


def assert_whole_life(types: Any, file: str) -> None:
    planned = types("plan", "-f", file, "--exit-code")
    assert planned.code == 1, planned.err
    assert "object: Deployment kube-system/packer: create" in planned.out
    assert "the former revision" in planned.out
    applied = types("apply", "-f", file, "--yes", "--reason", "try it", *QUICK)
    assert applied.code == 0, applied.err + applied.out
    assert "Applied: Deployment kube-system/packer, proven." in applied.out
    assert "kschedpatch rollback --deployment kube-system/packer" in applied.out
    again = types("apply", "-f", file, "--yes")
    assert again.code == 0
    assert "Nothing to change" in again.out
    status = data(types("status", *TARGET, "-o", "json"))
    assert status["state"] == "as left"
    assert status["patch"] == "packing"
    assert status["leader"].startswith("packer-")
    assert "as left" in types("status", *TARGET).out
    [kept] = data(types("history", *TARGET, "-o", "json"))["runs"]
    assert (kept["outcome"], kept["reason"]) == ("confirmed", "try it")
    assert kept["run"] in types("history", *TARGET).out
    for words in (("-f", file), TARGET):
        verified = types("verify", *words)
        assert verified.code == 0, verified.out + verified.err
    looked = data(types("rollback", *TARGET, "--dry-run", "-o", "json"))
    assert (looked["kind"], looked["changed"]) == ("RollbackPlan", True)
    assert data(types("status", *TARGET, "-o", "json"))["exists"] is True
    back = types("rollback", *TARGET, "--yes", *QUICK)
    assert back.code == 0, back.out + back.err
    assert data(types("status", *TARGET, "-o", "json"))["exists"] is False
    assert types("verify", *TARGET).code == 1
    purged = types("purge", *TARGET, "--yes")
    assert purged.code == 0, purged.out + purged.err
    assert "Nothing of kschedpatch is left" in types("purge", *TARGET, "--yes").out


def test_through_a_control_plane_node(office: Desk) -> None:
    assert_whole_life(office.types, office.writes(PATCH.replace(b"LEVEL", b"2")))


def test_through_kubectl_here_and_no_node(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here(office, monkeypatch)
    applied = here.types("plan", "-f", office.writes(PATCH.replace(b"LEVEL", b"3")))
    assert applied.code == 0, applied.err
    assert_whole_life(here.types, office.writes(PATCH.replace(b"LEVEL", b"3")))


def test_what_does_not_go_together(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = office.writes(PATCH)
    here = Here(office, monkeypatch)
    pod = office.directory / "pod.yaml"
    static = PATCH.decode().partition("  target")[0]
    pod.write_text(f'{static}  scheduler: {{args: {{v: "2"}}}}\n')
    for words in (
        ("apply", "-f", str(pod), "--yes"),  # the static pod needs its nodes
        ("plan", "-f", file, "--kubernetes-version", "1.35"),
        ("plan", "-f", file, "cp1"),
        ("status",),
        ("rollback", "--deployment", "packer"),
        ("verify", "-f", file, *TARGET),
        ("purge",),
    ):
        ran = here.types(*words)
        assert ran.code == 2, (words, ran.err)
        assert ran.err.startswith("Error: "), (words, ran.err)


def test_a_kept_plan_is_carried_out_or_refused(
    office: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, kept = Here(office, monkeypatch), str(office.directory / "plan.json")
    file = office.writes(PATCH.replace(b"LEVEL", b"6"))
    assert here.types("plan", "-f", file, "--out", kept).code == 0
    office.file.unlink()  # all of it is in the plan
    quick = ("--yes", "--settle", "1", "--no-preflight")
    assert here.types("apply", "--plan", kept, *quick).code == 0
    # Carried out once, it would be another change now.
    again = here.types("apply", "--plan", kept, *quick)
    assert (again.code, "N302" in again.err) == (exitcodes.REFUSED, True), again.err
    assert here.types("purge", *TARGET, "--yes").code == 0
    assert here.types("apply", "--plan", kept, *quick).code == 0
    assert here.types("purge", *TARGET, "--yes").code == 0
    damaged = Path(kept)
    damaged.write_text(damaged.read_text().replace('"format": 1', '"format": 7'))
    broken = here.types("apply", "--plan", kept, *quick)
    assert (broken.code, "N301" in broken.err) == (exitcodes.INVALID, True), broken.err


def test_a_cluster_that_does_not_answer(
    one: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = sat_down(one, tmp_path, monkeypatch)
    file = desk.writes(PATCH.replace(b"LEVEL", b"2"))
    here = Here(desk, monkeypatch)
    one.sandbox.api_down()
    try:
        for words in (("apply", "-f", file, "--yes"), ("status", *TARGET), ("verify", *TARGET)):
            ran = here.types(*words)
            assert ran.code == 3, (words, ran.out, ran.err)
            assert "N088" in ran.out + ran.err
    finally:
        one.sandbox.api_up()
        one.node.wait_ready()


def test_nothing_to_go_back_to(office: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here(office, monkeypatch)
    ran = here.types("rollback", *TARGET, "--yes")
    assert ran.code == 3
    assert "N085" in ran.err


def test_a_report_of_each_command(office: Desk) -> None:
    file = office.writes(PATCH.replace(b"LEVEL", b"4"))
    title = "Deployment kube-system/packer"
    pages = {}
    for command, *words in (
        ("plan", "-f", file),
        ("apply", "-f", file, "--yes", *QUICK),
        ("verify", *TARGET),
        ("rollback", *TARGET, "--yes", *QUICK),
    ):
        page = office.directory / f"{command}.html"
        ran = office.types(command, *words, "--report", str(page))
        assert ran.code == 0, ran.err
        pages[command] = read(page.read_text("utf-8"))
    assert office.types("purge", *TARGET, "--yes").code == 0
    assert title in pages["plan"].text
    assert pages["plan"].title.startswith("Would change objects of the cluster")
    applied = pages["apply"]
    assert applied.title == f"Applied: {title}, proven."
    assert {"switch", "watch"} <= applied.lanes[title]
    assert "kschedpatch rollback --deployment kube-system/packer" in applied.text
    assert "Without its own scheduler" not in applied.text
    assert "Checks" in pages["verify"].headings
    assert pages["rollback"].title == f"Rolled back: {title}, proven."
