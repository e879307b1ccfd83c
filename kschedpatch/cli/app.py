"""All commands. Their modules import what they need when they run: --help stays fast."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedpatch import __version__
from kschedpatch.cli.apply import apply
from kschedpatch.cli.completion import completion
from kschedpatch.cli.export import export
from kschedpatch.cli.history import history
from kschedpatch.cli.init import init
from kschedpatch.cli.lint import lint
from kschedpatch.cli.migrate import migrate
from kschedpatch.cli.plan import plan
from kschedpatch.cli.purge import purge
from kschedpatch.cli.recipes import recipes
from kschedpatch.cli.render import render
from kschedpatch.cli.rollback import rollback
from kschedpatch.cli.sandbox import sandbox
from kschedpatch.cli.schema import schema
from kschedpatch.cli.status import status
from kschedpatch.cli.verify import verify

app = typer.Typer(
    help="Change the scheduler of a live kubeadm cluster without ever losing it.",
    no_args_is_help=True,
    rich_markup_mode=None,  # rich's help costs more than twice the time
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"kschedpatch {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Change the scheduler of a live kubeadm cluster without ever losing it."""


_COMMANDS = (
    recipes, init, lint, migrate, render, plan, apply, verify, rollback, status, history, export,
    purge, schema, completion,
)  # fmt: skip
for _command in _COMMANDS:
    app.command()(_command)
app.add_typer(sandbox)
