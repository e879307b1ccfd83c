"""``schema``: the patch file's JSON Schema, for editors."""

from __future__ import annotations

import sys

from kschedpatch.cli.options import refuse


def schema() -> None:
    """Print the JSON Schema of the patch file; editors complete and check with it."""
    from kschedpatch.report.reference import schema_text
    from kschedpatch.report.terminal import OutputLost, write

    try:
        write(sys.stdout, schema_text())
    except OutputLost as error:
        refuse(f"the schema could not be written to standard output: {error}")
