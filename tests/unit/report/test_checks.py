"""The checklist for people and for programs."""

from __future__ import annotations

import pytest

from kschedpatch.model.checks import Check, CheckState
from kschedpatch.model.codes import found
from kschedpatch.report.checks import checklist_text, checks_data, checks_summary
from kschedpatch.report.terminal import Paint
from tests.printed import check_data

LONG = "word " * 40
CHECKS = (
    Check("", "leader", CheckState.OK, "cp2"),
    Check("cp1", "manifest", CheckState.FAILED, "12 lines differ", tuple("-+" * 6),
          (found("N102", "x"), found("N134", "y"))),
    Check("cp1", "socket /very/" + "long/" * 30, CheckState.WARNING, LONG + "\x1b[31m"),
    Check("cp2", "image", CheckState.NOT_CHECKED, "no crictl on the node"),
)  # fmt: skip


def test_a_block_for_each_node_and_one_for_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = checklist_text(CHECKS, Paint(False))
    heads = [line for line in text.splitlines() if not line.startswith(" ")]
    assert heads == ["cp1", "cp2", "cluster"]
    assert "  not checked  image: no crictl on the node\n" in text
    assert "… and 2 more lines; -o json has them" in text
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text
    assert "\x1b[31m" in checklist_text(CHECKS[1:2], Paint(True))


def test_the_last_line_counts() -> None:
    told = checks_summary(CHECKS, Paint(False))
    assert told == "1 ok, 1 failed, 1 warning, 1 not checked\n"


def test_the_document_has_the_same() -> None:
    first, second, *_ = checks_data(CHECKS)
    check_data("VerifyResult", {"nodes": [], "checks": checks_data(CHECKS)})
    assert first == {
        "node": None,
        "check": "leader",
        "state": "ok",
        "evidence": "cp2",
        "lines": [],
        "codes": [],
    }
    assert (second["node"], second["codes"], len(second["lines"])) == ("cp1", ["N102"], 12)
