"""What a sandbox needs of the machine that it runs on; told before anything is started."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kschedpatch.sandbox.operatorfiles import can_be_named

#: The stubs of a node stand before these in its PATH, so they call them by their place.
_BY_PLACE = ("/bin/sh", "/bin/sleep", "/bin/date", "/bin/uname", "/usr/bin/id")
#: What the script on the nodes and the stubs call; coreutils, grep and sed, or busybox, have them.
PROGRAMS = tuple(
    "cat chmod chown cmp cp cut dd df env grep head ls mkdir mkfifo mktemp mv readlink rm sed sh "
    "sha256sum sort stat sync tail tee tr wc".split()
)


class Machine(NamedTuple):
    """What was found; the defaults are those of a machine that has everything."""

    platform: str = "linux"
    shows_processes: bool = True
    """/proc tells of this very process what is asked of others at the end."""
    missing_programs: tuple[str, ...] = ()
    has_loopback: bool = True


class Place(NamedTuple):
    """The directory that the sandbox would live in."""

    path: Path
    problem: str = ""
    """Why nothing can be written there."""
    runs_programs: bool = True


class Lack(NamedTuple):
    """What stands against a sandbox here, and what helps."""

    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}"


def lacks(machine: Machine, place: Place) -> tuple[Lack, ...]:
    """Everything at once; none: it can start."""
    if machine.platform != "linux":
        message = f"this is {machine.platform}, and a sandbox needs Linux: its nodes live by /proc"
        return (Lack(message, "A Linux container or virtual machine will do."),)
    return (*_of_machine(machine), *_of_place(place))


def _of_machine(machine: Machine) -> Iterator[Lack]:
    if not machine.shows_processes:
        yield Lack(
            "/proc is not mounted, or shows nothing of this user's own processes",
            "Mount it, without hidepid for this user.",
        )
    if machine.missing_programs:
        yield Lack(
            f"not installed: {', '.join(machine.missing_programs)}",
            "On Debian: apt-get install coreutils grep sed diffutils dash",
        )
    if not machine.has_loopback:
        yield Lack(
            "nothing can listen on 127.0.0.1, where the nodes' SSH servers would be",
            "Bring the loopback interface up: ip link set lo up",
        )


def _of_place(place: Place) -> Iterator[Lack]:
    elsewhere = "Name another directory in XDG_STATE_HOME (up) or TMPDIR (demo)."
    if place.problem:
        yield Lack(f"nothing can be written to {place.path}: {place.problem}", elsewhere)
    elif not can_be_named(place.path):
        yield Lack(f"{place.path}: an SSH configuration can't name such a path", elsewhere)
    elif not place.runs_programs:
        yield Lack(
            f"{place.path}: programs can't be run there (mounted with noexec?), and the nodes' "
            "tools would be",
            elsewhere,
        )


def look_at_machine() -> Machine:
    if sys.platform != "linux":
        return Machine(sys.platform)
    places = [path for path in _BY_PLACE if not os.access(path, os.X_OK)]
    names = [name for name in PROGRAMS if shutil.which(name) is None]
    return Machine(sys.platform, _shows_processes(), (*places, *names), _has_loopback())


def look_at_place(directory: Path) -> Place:
    """``directory`` is there, and the caller's own."""
    program = directory / ".can-it-run"
    try:
        program.write_text("#!/bin/sh\nexit 0\n", "utf-8")
        program.chmod(0o700)
    except OSError as error:
        return Place(directory, error.strerror or str(error))
    try:
        ran = subprocess.run([program], check=False, capture_output=True).returncode == 0  # noqa: S603 (written here)
    except OSError:
        ran = False
    finally:
        program.unlink()
    return Place(directory, runs_programs=ran)


def _shows_processes() -> bool:
    try:
        Path("/proc/self/environ").read_bytes()
        return bool(Path("/proc/self/stat").read_bytes())
    except OSError:
        return False


def _has_loopback() -> bool:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            return True
    except OSError:
        return False
