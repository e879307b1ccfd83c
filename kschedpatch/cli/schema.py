"""``schema``: the patch file's JSON Schema, for editors."""

from __future__ import annotations

import sys


def schema() -> None:
    """Print the JSON Schema of the patch file; editors complete and check with it."""
    from kschedpatch.report.reference import schema_text
    from kschedpatch.report.terminal import write

    write(sys.stdout, schema_text())
