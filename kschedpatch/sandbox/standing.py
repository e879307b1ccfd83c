"""The sandbox that stays: put up, found again, taken down. One a user, guarded by a lock."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from kschedpatch.sandbox import residence
from kschedpatch.sandbox.residence import Keeper
from kschedpatch.sandbox.starting import Held, NotStarted, check

#: Slow enough that commands with their usual deadlines work on it.
SPEED = 4
_NAME = "sandbox"


class Standing(NamedTuple):
    directory: Path
    keeper: Keeper
    is_new: bool


class Gone(NamedTuple):
    directory: Path
    keeper: Keeper | None
    """The process that was ended; None: only files were left of one."""


class NotGone(Exception):
    """Something of a sandbox is left; the text says what, and where."""


def put_up(nodes: int) -> Standing:
    """The sandbox of this user: a new one, or the one that runs."""
    base = residence.made_directory()
    directory = base / _NAME
    with _alone(base):
        keeper = residence.read_record(directory)
        if keeper is not None and residence.is_running(keeper):
            return Standing(directory, keeper, is_new=False)
        check(base)
        _clear(directory)  # what a machine that was switched off has left
        try:
            directory.mkdir(mode=0o700)
        except OSError as error:
            raise NotStarted(f"{directory}: {error.strerror or error}") from None
        with Held(directory, nodes, SPEED) as held:
            held.wait_ready()
            keeper = residence.read_record(directory)
            if keeper is None:
                raise NotStarted("the nodes did not write down that they run")
            held.let_go()
        return Standing(directory, keeper, is_new=True)


def take_down() -> Gone | None:
    """Ends it and takes its files away; None: there was nothing."""
    base = residence.made_directory()
    directory = base / _NAME
    try:
        with _alone(base):
            if not directory.exists():
                return None
            keeper = residence.read_record(directory)
            running = keeper if keeper is not None and residence.is_running(keeper) else None
            if running is not None and not residence.end(running.process):
                raise NotGone(f"process {running.process.pid} does not end. Nothing was removed.")
            _clear(directory)
            return Gone(directory, running)
    finally:
        with suppress(OSError):
            base.rmdir()  # where nothing else is kept


def _clear(directory: Path) -> None:
    if directory.exists() and not residence.remove(directory):
        raise NotGone(f"{directory} could not be removed. Look at what holds it, and remove it.")


@contextmanager
def _alone(base: Path) -> Iterator[None]:
    """Two commands at once would start two, and remove each other's files."""
    lock = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
