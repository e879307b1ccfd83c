"""The commands for nodes where no node is reached: what is refused, in which words and codes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
import typer

from kschedpatch.cli import fleets
from kschedpatch.model import exitcodes
from kschedpatch.model.codes import found
from tests.unit.command_line import run

#: Nobody listens there.
NOWHERE = "127.0.0.1:1"


@pytest.fixture
def patch_file(tmp_path: Path) -> str:
    path = tmp_path / "patch.yaml"
    path.write_text(
        "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: mine}\n"
        'spec: {scheduler: {args: {v: "5"}}}\n'
    )
    return str(path)


@pytest.mark.parametrize("command", ["plan", "apply", "verify"])
def test_an_unreachable_node_is_named_and_nothing_is_done(command: str, patch_file: str) -> None:
    ran = run(command, "-f", patch_file, NOWHERE, "-o", "json", "-q")
    body = json.loads(ran.out)
    assert ran.code == body["exitCode"] == exitcodes.REFUSED
    assert [finding["code"] for finding in body["findings"]] == ["N029"]
    assert body["findings"][0]["file"] == NOWHERE
    assert body["changed"] is False


@pytest.mark.parametrize("command", ["status", "history", "rollback"])
def test_also_without_a_patch(command: str) -> None:
    ran = run(command, NOWHERE)
    assert ran.code == exitcodes.REFUSED
    assert f"{NOWHERE}: error N029" in ran.err


@pytest.mark.parametrize("command", ["plan", "apply", "verify"])
def test_a_wrong_patch_is_told_before_any_node_is_contacted(command: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {}\n")
    ran = run(command, "-f", str(path), NOWHERE)
    assert ran.code == exitcodes.INVALID
    assert "P002" in ran.err
    assert ran.err.endswith("No node was contacted.\n")
    assert "connecting" not in ran.err


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("apply", NOWHERE), "nothing to work on"),
        (("status",), "no node is named"),
        (("apply", "--plan", "p", "--image", "x/y:v1"), "--plan excludes a patch"),
        (("rollback", "--to", "../etc", NOWHERE), "is no run"),
        (("rollback", "--reason", "two\nlines", NOWHERE), "--reason is one line"),
        (("apply", "--confirm-timeout", "1", NOWHERE), "--confirm-timeout"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], words: str) -> None:
    ran = run(*arguments)
    assert ran.code == exitcodes.INVALID
    assert words in ran.err
    assert ran.out == ""


def test_a_file_that_is_no_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("{}")
    ran = run("apply", "--plan", str(path), "--yes")
    assert ran.code == exitcodes.INVALID
    assert f"{path}: error N301" in ran.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "answer, goes_on", [("y\n", True), ("YES\n", True), ("\n", False), ("", False)]
)
def test_only_a_yes_goes_on(
    answer: str, goes_on: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    code = None
    try:
        fleets.asked_to_go_on("Apply this to cp1?", yes=False)
    except typer.Exit as end:
        code = end.exit_code
    assert code == (None if goes_on else exitcodes.REFUSED)
    said = capsys.readouterr().err
    assert said.startswith("Apply this to cp1? [y/N] ")
    assert ("Nothing was changed." in said) is not goes_on


def test_nodes_that_stand_in_the_way_are_3_and_a_wrong_patch_is_2() -> None:
    of_node = found("M003", "x", file="cp1, cp2:/etc/kubernetes/manifests/kube-scheduler.yaml")
    of_patch = found("M003", "x", file="cp1.yaml")
    assert fleets.refusal([found("N017", "only a warning")], ["cp1"]) == exitcodes.OK
    assert fleets.refusal([of_node, found("N005", "x")], ["cp1", "cp2"]) == exitcodes.REFUSED
    assert fleets.refusal([of_node, of_patch], ["cp1", "cp2"]) == exitcodes.INVALID


def test_a_bug_in_the_middle_of_a_run_does_not_claim_that_nothing_happened(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KSCHEDPATCH_DEBUG", raising=False)

    def broken() -> None:
        raise KeyError("x")

    with pytest.raises(typer.Exit) as end:
        fleets.carried_out(broken)
    assert end.value.exit_code == exitcodes.INTERNAL
    said = capsys.readouterr().err
    assert "go back by themselves" in said
    assert "Nothing was written" not in said
