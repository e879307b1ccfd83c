"""Runs that commands have told of on this machine: a shell can offer them without asking a node.

A line for each run, with the nodes (or the Deployment) that have it. It is a help and nothing else:
what can't be read or written is passed over, and nothing is ever decided by it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kschedpatch.core.fleet.runids import is_run_id

_MAX_BYTES = 64 * 1024
_MAX_RUNS = 100
_MAX_NAMES = 16


def _place() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    # As the specification has it: what is not absolute is not there.
    cache = Path(base) if base.startswith("/") else Path("~/.cache").expanduser()
    return cache / "kschedpatch" / "runs"


def seen(names: Iterable[str] = ()) -> tuple[str, ...]:
    """Newest first; of these nodes, or of any where none is named."""
    wanted = {*names}
    return tuple(run for run, there in _read().items() if not wanted or wanted & {*there})


def _read() -> dict[str, tuple[str, ...]]:
    from kschedpatch.inputs.files import Unreadable, read_bytes

    try:
        lines = read_bytes(_place(), _MAX_BYTES).decode("utf-8", "replace").splitlines()
    except (Unreadable, OSError, RuntimeError):
        return {}
    found = (line.split() for line in lines)
    runs = {words[0]: tuple(words[1:]) for words in found if words and is_run_id(words[0])}
    return dict(sorted(runs.items(), reverse=True)[:_MAX_RUNS])


def remember(data: Mapping[str, Any]) -> None:
    """The runs in a document: the one that it is about, or those that it lists."""
    from kschedpatch.report.directory import WriteError, write_private

    told = {run: names for run, names in _told(data) if is_run_id(run)}
    if not told:
        return
    before = _read()
    for run, names in told.items():
        told[run] = tuple(dict.fromkeys((*before.get(run, ()), *names)))[:_MAX_NAMES]
    runs = dict(sorted({**before, **told}.items(), reverse=True)[:_MAX_RUNS])
    if runs == before:
        return
    try:
        _place().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lines = (" ".join((run, *names)) for run, names in runs.items())
        write_private(_place(), "".join(f"{line}\n" for line in lines))
    except (OSError, RuntimeError, WriteError):
        return


def _told(data: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    listed = data.get("runs") if isinstance(data.get("runs"), list) else [data]
    for one in listed or ():
        where = [node["node"] for node in one.get("nodes", ())] or [data.get("deployment", "")]
        names = (name for name in where if name and len(name) < 300 and not name.split()[1:])
        yield str(one.get("run", "")), tuple(names)
