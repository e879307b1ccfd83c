"""Flags that commands share, and how their results are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kschedpatch.model import exitcodes

if TYPE_CHECKING:
    from pathlib import Path

    from kschedpatch.inputs.loading import LoadedPatch
    from kschedpatch.inputs.quickflags import QuickFlags
    from kschedpatch.model.kubeversion import KubeVersion
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.terminal import Paint


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Output = Annotated[Format, typer.Option("-o", "--output", help="How the result is shown.")]
File = Annotated[
    str | None,
    typer.Option("-f", "--file", metavar="FILE", help="The patch file; - is standard input."),
]
RecipeName = Annotated[
    str | None, typer.Option("--recipe", metavar="NAME", help="A recipe instead of a file.")
]
Version = Annotated[
    str | None,
    typer.Option(
        "--kubernetes-version",
        metavar="VERSION",
        help="The node's version, such as 1.34. Default: the tag of the manifest's image.",
    ),
]
Image = Annotated[str | None, typer.Option(metavar="IMAGE", help="The scheduler's image.")]
ImageArchive = Annotated[
    str | None, typer.Option(metavar="TAR", help="An image archive, for nodes without a registry.")
]
Binary = Annotated[str | None, typer.Option(metavar="FILE", help="A kube-scheduler binary.")]
Config = Annotated[str | None, typer.Option(metavar="FILE", help="A KubeSchedulerConfiguration.")]
Mounts = Annotated[
    list[str] | None,
    typer.Option("--mount", metavar="HOST[:CONTAINER][:ro|rw]", help="A path of the host."),
]
DevicePlugins = Annotated[
    bool, typer.Option("--device-plugins", help="Mount the kubelet's device-plugin directory.")
]
Args = Annotated[
    list[str] | None,
    typer.Option("--arg", metavar="NAME=VALUE", help="A flag of the scheduler, such as v=5."),
]
RbacFiles = Annotated[
    list[str] | None, typer.Option("--rbac", metavar="FILE", help="A manifest with RBAC objects.")
]


#: Kinds of results that name runs; shells offer them later.
_WITH_RUNS = frozenset({"ApplyResult", "RollbackResult", "HistoryResult"})


class Refused(typer.Exit):
    def __init__(self, message: str) -> None:
        super().__init__(exitcodes.INVALID)
        self.message = message


class Ended(typer.Exit):
    """A command's end, with what it had to say."""

    def __init__(self, outcome: Outcome, text: Callable[[Paint], str], words: str = "") -> None:
        super().__init__(outcome.exit_code)
        self.outcome = outcome
        self.text = text
        self.words = words


def refuse(message: str) -> NoReturn:
    """Wrong usage, in the words and with the exit code of the option parser's own complaints."""
    from kschedpatch.report.program import as_typed
    from kschedpatch.report.terminal import complain, printable

    complain(f"Error: {printable(as_typed(message))}")
    raise Refused(message)


def check_target(out: Path, *, force: bool) -> None:
    """Before any work is done for what could not be written."""
    from kschedpatch.report.directory import WriteError, check_target

    try:
        check_target(out, force=force)
    except WriteError as error:
        refuse(str(error))


def write_plan(out: Path, text: str) -> None:
    from kschedpatch.report.directory import WriteError, write_private

    try:
        write_private(out, text)
    except WriteError as error:
        refuse(f"{error}. Nothing was changed.")


def parsed_version(text: str | None) -> KubeVersion | None:
    from kschedpatch.model.kubeversion import parse_version

    if text is None:
        return None
    version = parse_version(text)
    if version is None:
        refuse(f"--kubernetes-version {text!r} is no version. Write it as 1.34 or v1.34.2.")
    return version


def quick_flags(
    image: str | None,
    image_archive: str | None,
    binary: str | None,
    config: str | None,
    mount: list[str] | None,
    device_plugins: bool,
    arg: list[str] | None,
    rbac: list[str] | None,
) -> QuickFlags:
    from kschedpatch.inputs.quickflags import QuickFlags

    lists = (tuple(mount or ()), device_plugins, tuple(arg or ()), tuple(rbac or ()))
    return QuickFlags(image, image_archive, binary, config, *lists)


def loaded_patch(file: str | None, recipe: str | None, flags: QuickFlags) -> LoadedPatch:
    """The patch from --file, --recipe and flags, or why there is none."""
    from kschedpatch.inputs.files import Unreadable, read_named
    from kschedpatch.inputs.loading import LoadedPatch, load_patch
    from kschedpatch.inputs.recipes import NoRecipe, recipe_text

    if file is not None and recipe is not None:
        refuse("--file and --recipe exclude each other.")
    if file is None and recipe is None and not flags.given:
        refuse("nothing to work on: give a patch with -f FILE, --recipe NAME or flags (--image …).")
    try:
        source = read_named(file) if file is not None else None
        source = recipe_text(recipe) if recipe is not None else source
    except Unreadable as error:
        return LoadedPatch(None, (error.finding(file or "-f"),))
    except NoRecipe as error:
        refuse(str(error))
    return load_patch(source, flags)


def show(
    outcome: Outcome, output: Format, text: Callable[[Paint], str], words: str = ""
) -> NoReturn:
    """Writes the result to stdout, in the form that was asked for, and ends with its exit code.
    ``words`` were said elsewhere."""
    from kschedpatch.report.terminal import OutputLost, paint_for, write

    try:
        if output is Format.TABLE:
            write(sys.stdout, text(paint_for(sys.stdout)))
        else:
            from kschedpatch.report.documents import as_json, as_yaml

            write(sys.stdout, as_json(outcome) if output is Format.JSON else as_yaml(outcome))
    except OutputLost as error:
        refuse(f"the result could not be written to standard output: {error}")
    if outcome.kind in _WITH_RUNS and outcome.data:
        from kschedpatch.cli.seenruns import remember

        remember(outcome.data)
    raise Ended(outcome, text, words)
