"""``init``: a recipe as files of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kschedpatch.cli import options
from kschedpatch.cli.options import Format


def init(
    recipe: Annotated[str, typer.Argument(help="A name from `kschedpatch recipes`.")],
    directory: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the files go.")
    ] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Write a recipe as a commented patch file, with the files that it names."""
    from kschedpatch.inputs.recipes import NoRecipe, recipe_named
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.directory import WriteError, write_files
    from kschedpatch.report.program import as_typed
    from kschedpatch.report.terminal import printable

    try:
        chosen = recipe_named(recipe)
        files = {directory / name: content for name, content in chosen.files().items()}
        written = [printable(str(path)) for path in write_files(files, force=force)]
    except (NoRecipe, WriteError) as error:
        options.refuse(str(error))
    lines = [*written, "", f"Next: edit {written[0]}, then kschedpatch lint -f {written[0]}"]
    outcome = Outcome("InitResult", changed=True, data={"files": written})
    options.show(outcome, output, lambda _: as_typed("\n".join(lines) + "\n"))
