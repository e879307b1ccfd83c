"""--report: the page of a run on simulated nodes, whatever becomes of the run."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from kschedpatch.rollout.turn import Turn
from tests.integration.rollout.desk import BARE, QUICK, Desk, sat_down
from tests.integration.rollout.rig import CONFIG, RBAC, Rig, assert_clean, patch
from tests.unit.report.pages import Read, read


@pytest.fixture
def file(desk: Desk) -> Path:
    return desk.directory / "run.html"


def seen(file: Path) -> Read:
    return read(file.read_text("utf-8"))


def test_a_change_and_the_way_back(desk: Desk, file: Path) -> None:
    wanted = desk.writes(patch(desk.rig.fresh_v(), rest=RBAC + CONFIG))
    report = ("--report", str(file))
    planned = desk.types("plan", "-f", wanted, *report)
    assert planned.code == 0, planned.err
    assert "Would change cp" in seen(file).title
    assert "What apply will do" in seen(file).headings

    reason = "ticket <b>42</b>"
    applied = desk.types("apply", "-f", wanted, "--yes", "--reason", reason, *QUICK, *report)
    assert applied.code == 0, applied.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    page = seen(file)
    conclusion, command = (line.strip() for line in applied.out.splitlines()[-2:])
    assert page.title == conclusion
    assert command in page.text
    assert reason in page.text
    assert page.headings == ["Nodes", "Time line", "Objects and notes", "Findings", "Changes"]
    assert sorted(page.lanes) == sorted([*desk.names, "cluster"])
    for name in desk.names:
        assert {"connect", "canary", "switch", "watch", "confirm"} <= page.lanes[name]
    assert page.text.count("at most ") == 3
    assert page.text.count("scheduler-config.yaml") >= 1
    assert page.text.count("+    - --v=") == 1, "the same diff on three nodes is shown once"
    assert "on cp" in page.text
    assert "objects created: clusterrole" in page.text.lower()

    verified = desk.types("verify", *report)
    assert verified.code == 0, verified.err
    assert "Checks" in seen(file).headings
    back = desk.types("rollback", "--yes", *QUICK, *report)
    assert back.code == 0, back.err
    assert seen(file).title.startswith("Rolled back, proven and confirmed on cp")


def test_one_that_breaks_and_goes_back(desk: Desk, file: Path) -> None:
    image = "example.org/breaks-on-first-pod:v1"
    for node in desk.rig.nodes:
        node.add_image(image)
    wanted = desk.writes(patch(desk.rig.fresh_v(), scheduler=f"image: {image}", rest=RBAC))
    ran = desk.types("apply", "-f", wanted, "--yes", *QUICK, "--report", str(file))
    assert ran.code == 4, ran.err
    page = seen(file)
    assert page.title == "Every node is back on what it ran before, and its scheduler is ready."
    assert page.headings[0] == "What failed"
    [sentence] = [line for line in ran.out.splitlines() if line.startswith("Failed on ")]
    assert sentence in page.text
    assert "The scheduler said" in page.text
    said = [line.removeprefix("  | ") for line in ran.out.splitlines() if line.startswith("  | ")]
    assert said
    assert all(line in page.text for line in said)
    assert all({"switch", "restore"} <= page.lanes[name] for name in desk.names)


def test_ctrl_c_in_the_midst_of_it(
    one: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, file, watch = sat_down(one, tmp_path, monkeypatch), tmp_path / "run.html", Turn.watch

    def interrupted(turn: Turn) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        watch(turn)

    monkeypatch.setattr(Turn, "watch", interrupted)
    wanted = desk.writes(patch(one.fresh_v()))
    ran = desk.types("apply", "-f", wanted, "--yes", *BARE, "--report", str(file))
    assert ran.code == 130, ran.err
    page = seen(file)
    assert page.title == (
        "Interrupted. Every node is back on what it ran before, and its scheduler is ready."
    )
    assert "Exit code 130" in page.flat
    assert {"switch", "watch", "restore"} <= page.lanes["cp1"]
    assert_clean(one)
