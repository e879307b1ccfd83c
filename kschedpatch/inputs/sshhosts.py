"""Names of hosts in files of OpenSSH's, for people who type: nothing is resolved or asked.

Only names that can be typed as they are: patterns, hashed names and odd characters are left out.
What can't be read has no names.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from kschedpatch.inputs.files import Unreadable, read_bytes

_MAX_BYTES = 256 * 1024
_MAX_FILES = 64
#: As many as ssh itself follows.
_MAX_DEPTH = 16
_MAX_ENTRIES = 2000
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}", re.ASCII)
_SETTING = re.compile(r"\s*([A-Za-z]+)(?:\s*=\s*|\s+)(.*)")
_WITH_PORT = re.compile(r"\[([^][:]+)]:([0-9]{1,5})", re.ASCII)


def is_plain(name: str) -> bool:
    """Fit for a terminal, for a shell without quotes, and for an address."""
    return _PLAIN.fullmatch(name) is not None


def hosts_of_config(path: Path) -> tuple[str, ...]:
    """The names after ``Host``, those of included files too."""
    return tuple(dict.fromkeys(_of_config(path, set(), 0)))


def _of_config(path: Path, seen: set[Path], depth: int) -> Iterator[str]:
    if path in seen or len(seen) == _MAX_FILES or depth > _MAX_DEPTH:
        return
    seen.add(path)
    for line in _lines(path):
        match = _SETTING.fullmatch(line)
        if match is None:
            continue
        keyword = match[1].lower()
        if keyword == "host":
            yield from filter(is_plain, _words(match[2]))
        elif keyword == "include":
            for pattern in _words(match[2]):
                for found in _included(pattern):
                    yield from _of_config(found, seen, depth + 1)


def _lines(path: Path) -> list[str]:
    try:
        return read_bytes(path, _MAX_BYTES).decode("utf-8", "replace").splitlines()
    except (Unreadable, OSError):
        return []


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # a quote that is not closed
        return []


def _included(pattern: str) -> list[Path]:
    """As ssh has it: relative to ~/.ssh. Wildcards count in the last part only, so that a pattern
    can't send this through a whole disk."""
    base = Path("~/.ssh").expanduser()
    path = base / Path(pattern).expanduser()
    if not any(sign in path.name for sign in "*?["):
        return [path]
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, _MAX_ENTRIES)]
    except (OSError, ValueError):
        return []
    hidden = path.name.startswith(".")
    return [
        path.parent / name
        for name in sorted(names)
        if fnmatchcase(name, path.name) and (hidden or not name.startswith("."))
    ]


def hosts_of_known_hosts(path: Path) -> tuple[str, ...]:
    """``host`` or ``host:port``; lines with hashed names tell nothing."""
    found: dict[str, None] = {}
    for line in _lines(path):
        names, _, rest = line.strip().partition(" ")
        if not rest or names.startswith(("#", "@", "|")):
            continue
        for name in names.split(","):
            match = _WITH_PORT.fullmatch(name)
            host, port = (match[1], f":{match[2]}") if match else (name, "")
            if is_plain(host):
                found[host + port] = None
    return tuple(found)
