"""The script that is sent to a node: the files in ``agent/``, joined."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_FIRST = "frames.sh"
#: Shipped as a file of its own: the dead man runs it, and it needs nothing else.
_APART = "restore.sh"


@cache
def agent_script() -> str:
    """ASCII, and without effect until its last line: a script that is cut short does nothing."""
    directory = files("kschedpatch.node").joinpath("agent")
    names = sorted(item.name for item in directory.iterdir() if item.name.endswith(".sh"))
    ordered = [_FIRST, *(name for name in names if name not in {_FIRST, _APART})]
    parts = [directory.joinpath(name).read_text("ascii") for name in ordered]
    return "\n".join(parts) + '\nksp_main "$@"\n'
