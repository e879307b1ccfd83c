"""``kubectl schedpatch`` is the same program, and speaks of itself by that name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from kschedpatch import __version__
from kschedpatch.cli.app import whole_app
from kschedpatch.report import program
from tests.unit.command_line import Ran, run

BIN = Path(sys.executable).parent
# What kubectl does with a command that it does not know: the plugin of that name takes its place.
KUBECTL = '#!/bin/sh\nplugin=$1\nshift\nexec "kubectl-$plugin" "$@"\n'


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)
    return {"PATH": f"{kubectl.parent}:{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path)}


def typed(environment: dict[str, str], *words: str) -> Ran:
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_kubectl_runs_it(environment: dict[str, str]) -> None:
    ran = typed(environment, "kubectl", "schedpatch", "--version")
    assert (ran.code, ran.out) == (0, f"kschedpatch {__version__}\n")
    ran = typed(environment, "kubectl", "schedpatch", "plan", "--nonsense")
    assert ran.code == 2
    assert "Try 'kubectl schedpatch plan -h' for help." in ran.err


def test_kubectl_asks_for_completions(environment: dict[str, str]) -> None:
    """As kubectl calls it: all words, the last one unfinished; a number on the last line."""
    for words, answer in (
        (("roll",), "rollback\tPut the former scheduler back, or end a run that is open\n:4\n"),
        (("plan", "-f", ""), ":0\n"),
        (("render", "--out", ""), ":16\n"),
    ):
        ran = typed(environment, "kubectl_complete-schedpatch", *words)
        assert (ran.code, ran.out, ran.err) == (0, answer, "")


def test_help_and_hints_have_the_name_that_was_typed(tmp_path: Path) -> None:
    plugin = "/usr/bin/kubectl-schedpatch"
    assert "Usage: kubectl schedpatch rollback" in run("rollback", "-h", program=plugin).out
    wrong = ("rollback", "cp1", "--to", "yesterday")
    assert "kubectl schedpatch history shows them" in run(*wrong, program=plugin).err
    assert ": kschedpatch history shows them" in run(*wrong).err
    old = "fixtures/configs/good/namescore-v1beta3.yaml"
    lint = ("lint", "-f", old, "--kubernetes-version", "1.29")
    assert "kubectl schedpatch migrate -f" in " ".join(run(*lint, program=plugin).out.split())
    # A document says the same to everybody.
    assert '"apiVersion: kubescheduler' in run(*lint, "-o", "json", program=plugin).out
    assert "kubectl schedpatch" not in run(*lint, "-o", "json", program=plugin).out
    made = run("init", "bin-packing", "--out", str(tmp_path), program=plugin).out
    assert "then kubectl schedpatch lint -f" in made


def test_every_command_is_told_by_that_name() -> None:
    group: Any = get_command(whole_app())
    assert sorted(program.COMMANDS) == sorted(group.commands)
