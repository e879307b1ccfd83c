"""The commands by name are the commands: --help of the quick form is that of the whole one."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from kschedpatch.cli.app import SUMMARIES, app_for, whole_app
from kschedpatch.report.program import COMMANDS


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_help_is_the_same_whether_commands_are_loaded_or_not(columns: str) -> None:
    said = [
        CliRunner(env={"COLUMNS": columns}).invoke(app, ["--help"]).stdout
        for app in (app_for(""), whole_app(), app_for("apply"))
    ]
    assert said[0] == said[1] == said[2]
    assert all(f"\n  {name} " in said[0] for name in SUMMARIES)


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_is_the_first_of_its_commands_help(name: str) -> None:
    command: Any = getattr(import_module(f"kschedpatch.cli.{name}"), name)
    is_group = isinstance(command, typer.Typer)
    text = command.info.help if is_group else inspect.getdoc(command)
    assert SUMMARIES[name] == " ".join(str(text).split("\n\n")[0].split())


def test_every_command_is_known_by_name() -> None:
    assert sorted(SUMMARIES) == sorted(COMMANDS)


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_command_that_is_called_is_whole(name: str) -> None:
    called: Any = get_command(app_for(name))
    whole: Any = get_command(whole_app())
    flags = [param.name for param in called.commands[name].params]
    assert flags == [param.name for param in whole.commands[name].params]
    for other in set(SUMMARIES) - {name}:
        assert called.commands[other].params == []


def test_a_mistyped_command_is_told_with_its_neighbour() -> None:
    result = CliRunner().invoke(app_for("aply"), ["aply"])
    assert result.exit_code == 2
    assert "No such command 'aply'" in result.output
    assert "apply" in result.output
