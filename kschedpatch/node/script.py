"""The script that is sent to a node: the files in ``agent/``, joined."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from kschedpatch.node.quoting import quote

# importlib.resources would cost more than reading all of them.
_AGENT = Path(__file__).with_name("agent")
_FIRST = "frames.sh"
#: A file of its own on the node: the dead man runs it, and it needs nothing else.
_DEAD_MAN = "restore.sh"
_COMMENT = re.compile(r"(?m)^[ \t]*#.*\n")
#: What `stands` and `confirm` need: over a fresh connection nothing else is asked.
_CONFIRMING = (_FIRST, "10-node.sh", "30-lock.sh", "80-end.sh", "90-main.sh")


@cache
def agent_script() -> str:
    """ASCII, and without effect until its last line: a script that is cut short does nothing."""
    names = sorted(item.name for item in _AGENT.glob("*.sh"))
    dead_man = f"KSP_RESTORE={quote(_text(_DEAD_MAN))}"
    return _joined([_FIRST, *(n for n in names if n not in {_FIRST, _DEAD_MAN})], dead_man)


@cache
def confirming_script() -> str:
    """The part of it by which a run is confirmed."""
    return _joined(_CONFIRMING)


def _joined(names: Iterable[str], *more: str) -> str:
    parts = (_without_comments(_text(name)) for name in names)
    return "\n".join((*parts, *more, 'ksp_main "$@"\n'))


def _text(name: str) -> str:
    return (_AGENT / name).read_text("ascii")


def _without_comments(text: str) -> str:
    """A third of it, which each node would have to take in and read through. There are none behind
    commands, and no text of several lines has one that begins so."""
    return _COMMENT.sub("", text)
