"""Where a sandbox lives on the user's machine, and which process keeps it.

A process is known by its id, its start and the boot: an id alone may be somebody else's by now.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kschedpatch.sandbox.systemd import kill_by_environment

_FORMAT = 1
_RECORD = "sandbox.json"
NODES = "nodes"
#: Names the directory to the commands that a demo runs: they end with its nodes.
COMMAND_OF = "KSCHEDPATCH_SANDBOX"
#: What the process that keeps a sandbox is told when it is to outlive the one that started it.
STAY = b"stay"


class NoResidence(Exception):
    """There is no directory to live in; the text says why, and what helps."""


class Process(NamedTuple):
    pid: int
    started: int
    """The 22nd field of /proc/PID/stat."""
    boot: str


class Keeper(NamedTuple):
    """What a sandbox writes down about itself."""

    process: Process
    nodes: tuple[str, ...]
    speed: int


def state_directory(environment: Mapping[str, str], user: int, temporary: Path) -> tuple[Path, ...]:
    """Where what is kept for this user may go, the best first."""
    chosen = environment.get("XDG_STATE_HOME", "")
    home = environment.get("HOME", "")
    places = []
    if chosen.startswith("/"):  # the standard has it that others are ignored
        places.append(Path(chosen) / "kschedpatch")
    elif home.startswith("/"):
        places.append(Path(home) / ".local/state/kschedpatch")
    return (*places, temporary / f"kschedpatch-{user}")


def made_directory() -> Path:
    """The directory for what is kept, made if need be, and nobody else's."""
    places = state_directory(os.environ, os.geteuid(), Path(tempfile.gettempdir()))
    problems = []
    for path in places:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
            found = path.lstat()
        except OSError as error:
            problems.append(f"{path}: {error.strerror or error}")
            continue
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            problems.append(f"{path}: not a directory of this user's")
        elif not os.access(path, os.W_OK | os.X_OK):
            problems.append(f"{path}: not writable")
        else:
            path.chmod(0o700)
            return path.resolve()
    raise NoResidence(f"{'; '.join(problems)}. Name a directory of yours in XDG_STATE_HOME.")


def this_process() -> Process:
    found = seen(os.getpid())
    assert found is not None  # noqa: S101  it runs this line
    return found


def seen(pid: int) -> Process | None:
    """The process that has this id now."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
    except OSError:
        return None
    # The name in the second field may have blanks and parentheses of its own.
    state, *rest = text.rpartition(")")[2].split()
    return None if state in "ZX" else Process(pid, int(rest[18]), boot)


def write_record(directory: Path, keeper: Keeper) -> None:
    body = {"format": _FORMAT, **keeper._asdict(), "process": keeper.process._asdict()}
    fresh = directory / f".{_RECORD}"
    fresh.write_text(json.dumps(body) + "\n", "utf-8")
    fresh.rename(directory / _RECORD)


def read_record(directory: Path) -> Keeper | None:
    """None: there is none that can be read; what is in the directory is left over."""
    try:
        body = json.loads((directory / _RECORD).read_text("utf-8"))
        if body["format"] != _FORMAT:
            return None
        process = Process(**body["process"])
        return Keeper(process, tuple(body["nodes"]), int(body["speed"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_running(keeper: Keeper) -> bool:
    return seen(keeper.process.pid) == keeper.process


def end(process: Process, seconds: float = 15.0) -> bool:
    """Asks it to end, and makes it after a while; False where it is there all the same."""
    try:
        # A handle first, then the look: between the two the id can't pass to somebody else.
        handle = os.pidfd_open(process.pid)
    except OSError:
        return seen(process.pid) != process
    try:
        for sign, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, 5.0)):
            if seen(process.pid) == process:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, sign)
            until = time.monotonic() + patience
            while seen(process.pid) == process and time.monotonic() < until:
                time.sleep(0.02)
        return seen(process.pid) != process
    finally:
        os.close(handle)


def remove(directory: Path) -> bool:
    """Ends what still runs on the nodes in there, and takes the directory away; False where
    something is left."""
    nodes = directory / NODES
    for _ in range(50):
        left = bool(kill_by_environment(f"{COMMAND_OF}={directory}"))
        for node in nodes.iterdir() if nodes.is_dir() else ():
            # Everything that runs «on» a node has its root in the environment.
            left |= bool(kill_by_environment(f"KSCHEDPATCH_ROOT={node / 'root'}"))
        if not left:
            shutil.rmtree(directory, ignore_errors=True)
            if not directory.exists():
                return True
        time.sleep(0.05)
    return False
