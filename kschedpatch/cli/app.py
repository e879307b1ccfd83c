"""All commands. Only the one that is called is imported and described to the framework in full: for
--help a word and a sentence of each are enough, and all of them take longer than the rest of it."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from kschedpatch import __version__

#: Each is a module of this package, with a function or a group of that name; the sentence is the
#: first of its help (a test compares them). In the order in which people meet them.
SUMMARIES = {
    "recipes": "List the recipes: schedulers that people set up often.",
    "init": "Write a recipe as a commented patch file, with the files that it names.",
    "lint": "Check a patch, a scheduler configuration or a manifest, offline.",
    "migrate": (
        "Rewrite a patch, a configuration or a Policy for another Kubernetes version, offline."
    ),
    "render": "Render a patch against a manifest, offline: diff, files and objects.",
    "plan": "Show what a patch would change on the nodes. Changes nothing there.",
    "apply": (
        "Change the scheduler on all nodes: standbys first, proven one by one, confirmed together."
    ),
    "verify": (
        "Compare the nodes with a patch, or with what the last run left there: do they "
        "work as asked?"
    ),
    "rollback": "Put the former scheduler back, or end a run that is open. Needs no API server.",
    "status": "Show how each node stands: leader, version, patch, run, drift, an open run.",
    "history": "List the runs that the nodes keep, newest first, or compare two of them.",
    "export": (
        "Write what makes kubeadm keep a patch: a ClusterConfiguration fragment and patches."
    ),
    "purge": (
        "Take everything of kschedpatch off un-patched nodes, and its objects off the "
        "cluster; or, with --deployment, a second scheduler that it has made."
    ),
    "schema": (
        "Print the JSON Schema of the patch file, by which editors complete and check "
        "it, or the one of the documents that commands print."
    ),
    "completion": (
        "Print the script by which a shell completes commands, flags, recipes, nodes and files."
    ),
    "sandbox": (
        "Throwaway control-plane nodes on this machine, to try everything on. No root, "
        "no network, no cluster."
    ),
}


def app_for(word: str) -> typer.Typer:
    """With this command; the others are only named. A word that is no command: with none."""
    return _app(frozenset({word}))


def whole_app() -> typer.Typer:
    return _app(frozenset(SUMMARIES))


def _app(wanted: frozenset[str]) -> typer.Typer:
    app = typer.Typer(
        help="Change the scheduler of a live kubeadm cluster without ever losing it.",
        no_args_is_help=True,
        rich_markup_mode=None,  # rich's help costs more than twice the time
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name, summary in SUMMARIES.items():
        if name not in wanted:
            app.command(name, help=summary)(_named)
            continue
        command: Any = getattr(import_module(f"kschedpatch.cli.{name}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command)
        else:
            app.command(name)(command)
    return app


def _named() -> None:
    """Stands for a command that is not called."""
    raise AssertionError("the command that is called is not the one that was loaded")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"kschedpatch {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Change the scheduler of a live kubeadm cluster without ever losing it."""
