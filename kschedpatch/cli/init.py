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
    from kschedpatch.inputs.loading import read_recipe
    from kschedpatch.inputs.recipes import recipe_named
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.terminal import printable

    chosen = recipe_named(recipe)
    if chosen is None:
        problem = read_recipe(recipe)
        options.refuse(f"{getattr(problem, 'message', '')}; {getattr(problem, 'hint', '')}")
    files = {directory / name: content for name, content in chosen.files().items()}
    written: list[str] = []
    try:
        for path in files:
            for parent in path.parents:
                if parent.exists() and not parent.is_dir():
                    options.refuse(
                        f"{parent} is a file, a directory is needed. Nothing was written."
                    )
        there = [str(path) for path in files if path.exists()]
        if there and not force:
            listed = ", ".join(there)
            options.refuse(f"{listed} exists already. Nothing was written; --force replaces.")
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            written.append(printable(str(path)))
    except OSError as error:
        done = f" Written so far: {', '.join(written)}." if written else " Nothing was written."
        options.refuse(f"{str(error.filename)[:100]}: {(error.strerror or '').lower()}.{done}")
    lines = [*written, "", f"Next: edit {written[0]}, then kschedpatch lint -f {written[0]}"]
    outcome = Outcome("InitResult", changed=True, data={"files": written})
    options.show(outcome, output, lambda _: "\n".join(lines) + "\n")
