"""``completion``: the scripts that make shells complete our command lines."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from kschedpatch.cli.options import refuse


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


_FILES = {Shell.BASH: "bash.sh", Shell.ZSH: "zsh.zsh", Shell.FISH: "fish.fish"}


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell that it is for.", metavar="SHELL")],
) -> None:
    """Print the script by which a shell completes commands, flags, recipes, nodes and files.

    No connection is opened for it: nodes come from an --inventory on the line, KSCHEDPATCH_NODES,
    the SSH configuration and known_hosts; runs are those that history, apply and rollback have
    told of on this machine. Where the script goes:

    \b
    bash  source <(kschedpatch completion bash)      in ~/.bashrc
    zsh   source <(kschedpatch completion zsh)       in ~/.zshrc, after compinit
    fish  kschedpatch completion fish | source       in ~/.config/fish/config.fish

    kubectl completes `kubectl schedpatch` by itself, where its own completion is set up.
    """
    from pathlib import Path

    from kschedpatch.report.terminal import OutputLost, write

    script = Path(__file__).parent / "completions" / _FILES[shell]
    try:
        write(sys.stdout, script.read_text("utf-8"))
    except OutputLost as error:
        refuse(f"the script could not be written to standard output: {error}")
