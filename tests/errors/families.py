"""What builds an error message, by the part of the tool that it belongs to, and what the reference
page says about all messages of a part."""

from __future__ import annotations

import inspect
from typing import NamedTuple

from kschedpatch.node import errors


class Family(NamedTuple):
    """A class or function whose calls build messages for people."""

    module: str
    name: str
    message: int = 0
    """Which argument is the message."""
    message_name: str = "message"
    hint: int | None = None
    """Which argument says what to do."""
    only_in: tuple[str, ...] = ()
    """Modules whose calls count; elsewhere it says other things than errors."""


class Area(NamedTuple):
    title: str
    head: str
    families: tuple[Family, ...]


_SAYS_MORE = tuple(
    Family(errors.__name__, name, hint=1)
    for name, kind in inspect.getmembers(errors, inspect.isclass)
    if kind.__module__ == errors.__name__
)

AREAS = (
    Area(
        "The command line",
        """\
Exit code 2. The command has not begun: no node was contacted and nothing was written, unless the
message itself says otherwise. Change the command as the message says; `-h` behind a command lists
its flags. A flag that is unknown, or a value that is out of its range, is told in the same way and
ends in the same exit code.""",
        (Family("kschedpatch.cli.options", "refuse"),),
    ),
    Area(
        "Addresses and inventories",
        """\
Exit code 2. No node was contacted. A message about an inventory begins with its name, and with the
line where there is one. Correct the address, or the inventory at that line.""",
        (
            Family("kschedpatch.inputs.nodeaddresses", "NoAddress"),
            Family("kschedpatch.inputs.inventoryformats", "Bad", 1, "reason"),
            Family("kschedpatch.inputs.inventory", "BadInventory"),
        ),
    ),
    Area(
        "Files that are read",
        """\
Exit code 2. Nothing was changed and nothing was written. Each is told as a
[finding](findings.md) behind the file's name: P006 for a file that can't be read, P012 for an image
archive, P004 for a program, N301 for a plan, N147 for a patch that the cluster keeps. Correct the
file or name another one; make a plan anew with `kschedpatch plan --out`.""",
        (
            Family("kschedpatch.inputs.files", "Unreadable", 0, "reason"),
            Family("kschedpatch.inputs.recipes", "NoRecipe"),
            Family("kschedpatch.inputs.archiveformats", "NotAnArchive"),
            Family("kschedpatch.inputs.archives", "_Unclear"),
            Family("kschedpatch.inputs.programs", "NoProgram"),
            Family("kschedpatch.inputs.deploymentplans", "_Broken"),
            Family("kschedpatch.core.fleet.planfile", "_Broken"),
            Family("kschedpatch.inputs.keptpatches", "UnreadablePatch"),
        ),
    ),
    Area(
        "Files that are written",
        """\
Exit code 2. Each file is written whole or not at all, and what was there before stays until then.
No node is changed by a command that ends so. Make room, or name another place.""",
        (Family("kschedpatch.report.directory", "WriteError"),),
    ),
    Area(
        "The way to a node",
        """\
Before a run these are findings of code N029, exit code 3: nothing was done on the node. In the
middle of a run they are failures «the connection was lost» (see below), and the node goes back by
itself unless it was confirmed. What to do stands behind each; one without it is the ‹reason› of
another one.""",
        (
            *_SAYS_MORE,
            Family("kschedpatch.node.records", "TooMuch"),
            Family("kschedpatch.node.records", "Malformed"),
        ),
    ),
    Area(
        "A roll-out that fails",
        """\
These stand below «Failed on … while …», which names the node, the step and the
[reason](#reasons-of-a-failure). Exit code 3: nothing live was touched. 4: every node is back on
what it ran before, and its scheduler is ready. 5: not everything is back; the command that is
printed last is the one to run now. Objects of the cluster are put back as well, and those that
could not be are named. What kubectl itself says, and what the scheduler said last, is shown as it
is.""",
        (
            Family("kschedpatch.model.rollout", "Failure", 3, "detail"),
            Family("kschedpatch.cluster.deploymentwatch", "RolloutFailed", 1, "detail"),
            Family("kschedpatch.cluster.probe", "ProbeFailed"),
            Family("kschedpatch.cluster.room", "NoRoom"),
            Family("kschedpatch.cluster.waiting", "NotReady", 0, "lines"),
            Family("kschedpatch.rollout.bringing", "NotBrought"),
            Family("kschedpatch.cluster.kubectl", "ApiRefused"),
            Family("kschedpatch.cluster.deployments", "Locked"),
        ),
    ),
    Area(
        "What kubeadm is given",
        """\
With `--persist` a finding of code N095, exit code 3: nothing was changed. A rollback goes on
without it and says so (N097). Look at the ConfigMaps kubeadm-config and kschedpatch-kubeadm in
kube-system.""",
        (
            Family("kschedpatch.core.kubeadm.clusterconfig", "UnreadableConfiguration"),
            Family("kschedpatch.core.kubeadm.keeping", "UnreadableRecord"),
        ),
    ),
    Area(
        "The sandbox",
        """\
Exit code 3: nothing was started. Exit code 5 of `sandbox down`: something is left, and is named. No
cluster and no node outside of the sandbox is ever touched.""",
        (
            Family("kschedpatch.sandbox.needs", "Lack", hint=1),
            Family("kschedpatch.sandbox.residence", "NoResidence"),
            Family("kschedpatch.sandbox.starting", "NotStarted"),
            Family("kschedpatch.sandbox.standing", "NotGone"),
            Family("kschedpatch.sandbox.demo", "Surprise"),
        ),
    ),
    Area(
        "The program itself",
        """\
Exit code 130 after an interruption, 70 for a bug. A run that was interrupted has restored what it
had changed before it ended, or says which nodes will do so by themselves.""",
        (
            Family("kschedpatch.cli.entry", "_say"),
            Family(
                "kschedpatch.report.terminal",
                "complain",
                only_in=("kschedpatch.cli.fleets", "kschedpatch.sandbox.demo"),
            ),
        ),
    ),
)

FAMILIES = tuple(family for area in AREAS for family in area.families)
