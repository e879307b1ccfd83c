"""The commands as values, for the manual page.

``python -m kschedpatch.cli.manual DIR`` writes the pages; a test compares them with the commands.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from kschedpatch.cli.app import whole_app
from kschedpatch.report.manpage import CommandHelp, OptionHelp, man_page


def pages() -> dict[str, str]:
    page = man_page(str(whole_app().info.help), [*commands()])
    return {"kschedpatch.1": page, "kubectl-schedpatch.1": ".so man1/kschedpatch.1\n"}


def commands() -> Iterator[CommandHelp]:
    return _commands(get_command(whole_app()), "")


def _commands(group: Any, before: str) -> Iterator[CommandHelp]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
            continue
        options = (_option(command, p) for p in command.params if p.param_type_name == "option")
        arguments = (_argument(p) for p in command.params if p.param_type_name == "argument")
        text = inspect.cleandoc(command.help or "")
        yield CommandHelp(f"{before}{name}", text, tuple(arguments), tuple(options))


def _argument(param: Any) -> str:
    name = (param.metavar or param.name).upper()
    name += " ..." if param.nargs == -1 else ""
    return name if param.required else f"[{name}]"


def _option(command: Any, param: Any) -> OptionHelp:
    names = tuple(sorted(param.opts, key=len))
    if param.is_flag:
        return OptionHelp(names, "", param.help or "")
    choices = param.shell_complete(typer.Context(command), "")
    value = param.metavar or "|".join(str(item.value) for item in choices) or "N"
    return OptionHelp(names, value, param.help or "", _default(param.default))


def _default(value: object) -> str:
    if value in {None, "", Path()}:
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value.value) if isinstance(value, Enum) else str(value)


def main(directory: Path) -> None:
    for name, text in pages().items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
