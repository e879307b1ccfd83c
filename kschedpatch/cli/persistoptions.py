"""``--persist``, for plan and apply."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedpatch.cli import options

Persist = Annotated[
    bool,
    typer.Option(
        "--persist", help="Also tell kubeadm, so that its upgrades and joins keep the change."
    ),
]

StageOnly = Annotated[
    bool,
    typer.Option(
        "--stage-only",
        help="Bring what a node needs before it joins; name it and one of the cluster.",
    ),
]


def check(persist: bool, *, partial: bool, is_deployment: bool) -> None:
    if persist and is_deployment:
        options.refuse("--persist is for the static pod: kubeadm knows nothing of Deployments.")
    if persist and partial:
        options.refuse(
            "--persist and --partial exclude each other: kubeadm's configuration is one for all "
            "nodes, and what it names must be on each of them."
        )
