"""The scheduler's command line as flags: which are set, where they stand, and changing them.

Flags are read as Go's pflag reads them: ``--name=value``, ``--name value``, ``-v=5``, ``-v 5``,
``-v5``; underscores count as dashes; the last of several wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from kschedpatch.core.kubeversions import BOOLEAN_FLAGS

_LONG = re.compile(r"--([^=\s]+)(?:=(.*))?", re.DOTALL)
_SHORT_V = re.compile(r"-v(?:=?(.+))?", re.DOTALL)


class Flag(NamedTuple):
    name: str
    value: str
    where: str
    """``command`` or ``args``: the list in which it stands."""
    at: int
    items: int
    """How many list items it takes: two for ``--name value``."""


def flags_of(container: dict[str, Any]) -> tuple[Flag, ...]:
    """The flags of a container, in the order in which the scheduler sees them."""
    return tuple(
        flag
        for where in ("command", "args")
        if isinstance(container.get(where), list)
        for flag in _scan(where, container[where])
    )


def _scan(where: str, items: list[Any]) -> Iterator[Flag]:
    index = 0
    while index < len(items):
        parsed = _parse(items, index) if isinstance(items[index], str) else None
        if parsed is None:
            index += 1
            continue
        name, value, taken = parsed
        yield Flag(name, value, where, index, taken)
        index += taken


def _parse(items: list[Any], index: int) -> tuple[str, str, int] | None:
    item = items[index]
    if match := _LONG.fullmatch(item):
        name = match[1].replace("_", "-")
        if match[2] is not None:
            return name, match[2], 1
    elif match := _SHORT_V.fullmatch(item):
        name = "v"
        if match[1] is not None:
            return name, match[1], 1
    else:
        return None
    if name in BOOLEAN_FLAGS:
        return name, "true", 1
    following = items[index + 1] if index + 1 < len(items) else None
    if isinstance(following, str):
        return name, following, 2
    return name, "", 1


def effective(container: dict[str, Any]) -> dict[str, str]:
    """Flag name → the value that counts."""
    return {flag.name: flag.value for flag in flags_of(container)}


def spelt(name: str, value: str) -> str:
    return f"--{name}={value}"


def set_flag(container: dict[str, Any], name: str, value: str) -> None:
    """Sets a flag in place; other occurrences go, a new one stands behind the last flag."""
    occurrences = [flag for flag in flags_of(container) if flag.name == name]
    if not occurrences:
        # Without a command the image has a program of its own, and what follows are its arguments.
        where = "args" if container.get("args") or not container.get("command") else "command"
        container.setdefault(where, []).append(spelt(name, value))
        return
    last = occurrences[-1]
    if [flag.value for flag in occurrences] == [value]:
        return
    for flag in reversed(occurrences):
        items = container[flag.where]
        end = flag.at + flag.items
        if flag is last and flag.items == 2:
            items[flag.at + 1] = value
        elif flag is last:
            # -v=5 stays -v: the reader of the file recognises their own spelling.
            own = re.match(r"--?[^=\s]*?(?==|$)", items[flag.at])
            head = own[0] if own and own[0] not in {"", "-"} and "=" in items[flag.at] else ""
            items[flag.at] = f"{head}={value}" if head else spelt(name, value)
        else:
            del items[flag.at : end]


def remove_flag(container: dict[str, Any], name: str) -> None:
    for flag in reversed(flags_of(container)):
        if flag.name == name:
            items = container[flag.where]
            del items[flag.at : flag.at + flag.items]
            if not items:
                del container[flag.where]
