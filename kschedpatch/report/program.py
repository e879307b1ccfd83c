"""How the program was called: what people are told to type begins with it."""

from __future__ import annotations

import os
import re
import sys

NAME = "kschedpatch"
PLUGIN = "kubectl schedpatch"
#: Of sentences, only where a command is named: kschedpatch itself stays kschedpatch.
COMMANDS = (
    "apply completion export history init lint migrate plan purge recipes render rollback sandbox "
    "schema status verify"
).split()
_CALL = re.compile(rf"\bkschedpatch (?=(?:{'|'.join(COMMANDS)})\b)")


def name() -> str:
    """As a kubectl plugin the program is called by its file's name; people type it with a blank."""
    called = os.path.basename(sys.argv[0] if sys.argv else "")  # noqa: PTH119  pathlib takes time
    return PLUGIN if called.startswith("kubectl-") else NAME


def as_typed(text: str) -> str:
    """Commands in a text for people, as this user types them."""
    return _CALL.sub(f"{PLUGIN} ", text) if name() == PLUGIN else text
