"""``schema``: the JSON Schemas, of what goes in and of what comes out."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from kschedpatch.cli.options import refuse


class Schema(StrEnum):
    PATCH = "patch"
    OUTPUT = "output"


def schema(
    which: Annotated[
        Schema,
        typer.Argument(
            metavar="WHICH",
            help="patch: of the patch file; output: of what -o json, -o yaml and --progress json "
            "print.",
        ),
    ] = Schema.PATCH,
) -> None:
    """Print the JSON Schema of the patch file, by which editors complete and check it, or the one
    of the documents that commands print.
    """
    from kschedpatch.report.reference import output_schema_text, schema_text
    from kschedpatch.report.terminal import OutputLost, write

    try:
        write(sys.stdout, output_schema_text() if which is Schema.OUTPUT else schema_text())
    except OutputLost as error:
        refuse(f"the schema could not be written to standard output: {error}")
