"""``sandbox``: throwaway nodes to try everything on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kschedpatch.cli import options
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes

if TYPE_CHECKING:
    from kschedpatch.sandbox.standing import Standing

sandbox = typer.Typer(
    name="sandbox",
    help="Throwaway control-plane nodes on this machine, to try everything on. "
    "No root, no network, no cluster.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@sandbox.command()
def demo() -> None:
    """Show a change from plan to rollback, on three nodes of its own.

    Exit code 0: all went as it should; 3: something is missing on this machine.
    """
    from kschedpatch.report.terminal import complain, printable
    from kschedpatch.sandbox.demo import run_demo
    from kschedpatch.sandbox.starting import NotStarted

    try:
        code = run_demo()
    except NotStarted as error:
        for line in str(error).splitlines():
            complain(f"Error: {printable(line)}")
        complain("Nothing was started, and nothing is left.")
        code = exitcodes.REFUSED
    raise typer.Exit(code)


@sandbox.command()
def up(
    nodes: Annotated[
        int, typer.Option("--nodes", min=1, max=7, help="How many control-plane nodes.")
    ] = 3,
    output: options.Output = Format.TABLE,
) -> None:
    """Start nodes that stay, and print the commands to try on them.

    Exit code 0: they run, or ran already; 3: they can't be started here.
    """
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.terminal import complain, printable
    from kschedpatch.sandbox.residence import NoResidence
    from kschedpatch.sandbox.standing import NotGone, put_up
    from kschedpatch.sandbox.starting import NotStarted

    try:
        found = put_up(nodes)
    except (NotStarted, NoResidence, NotGone) as error:
        for line in str(error).splitlines():
            complain(f"Error: {printable(line)}")
        complain("Nothing was started.")
        raise typer.Exit(exitcodes.REFUSED) from None
    if not found.is_new and len(found.keeper.nodes) != nodes:
        complain(
            f"Note: it has {len(found.keeper.nodes)} nodes. Another number: first sandbox down."
        )
    data = {
        "directory": str(found.directory),
        "nodes": list(found.keeper.nodes),
        "process": found.keeper.process.pid,
    }
    outcome = Outcome("SandboxUpResult", changed=found.is_new, data=data)
    options.show(outcome, output, lambda _: _commands(found))


@sandbox.command()
def down(output: options.Output = Format.TABLE) -> None:
    """End the nodes that `sandbox up` has started, and remove their files.

    Exit code 0: they are gone, or there were none; 5: something is left.
    """
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.terminal import complain, printable
    from kschedpatch.sandbox.residence import NoResidence
    from kschedpatch.sandbox.standing import NotGone, take_down

    try:
        gone = take_down()
    except (NoResidence, NotGone) as error:
        complain(f"Error: {printable(str(error))}")
        raise typer.Exit(exitcodes.NOT_RESTORED) from None
    if gone is None:
        words = "No sandbox is up: nothing to end."
    elif gone.keeper is None:
        words = f"No sandbox was running; what one had left in {gone.directory} is removed."
    else:
        words = f"The sandbox is down, and {gone.directory} is removed."
    outcome = Outcome("SandboxDownResult", changed=gone is not None)
    options.show(outcome, output, lambda _: f"{words}\n")


def _commands(found: Standing) -> str:
    from kschedpatch.report.program import as_typed
    from kschedpatch.sandbox.operatorfiles import SSH_CONFIG

    names = " ".join(found.keeper.nodes)
    there = f"--ssh-config {SSH_CONFIG} {names}"
    state = "runs now" if found.is_new else "is up already"
    lines = [
        f"The sandbox {state}: {names}. Its clock is {found.keeper.speed} times as fast as yours.",
        "Patches, SSH configuration, known hosts and key are in its directory. Try:",
        "",
        f"  cd {found.directory}",
        f"  kschedpatch status {there}",
        f"  kschedpatch plan -f gpumps.yaml {there}",
        f"  kschedpatch apply -f gpumps.yaml --probe {there}",
        f"  kschedpatch verify {there}",
        f"  kschedpatch rollback {there}",
        "",
        "without-plugin.yaml and breaks-on-first-pod.yaml fail, each in its own way.",
        "The nodes' files: nodes/cp1/root/etc/kubernetes/manifests, and so on.",
        "To end it and remove everything: kschedpatch sandbox down",
    ]
    return as_typed("\n".join(lines) + "\n")
