"""Progress lines on stderr and the running of outside commands."""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_start = time.monotonic()
_line = threading.Lock()


class RigError(Exception):
    """The rig can't do what was asked; the text says what and why."""


def say(text: str) -> None:
    # One write under a lock: bring-up reports from several threads.
    with _line:
        sys.stderr.write(f"[e2e {time.monotonic() - _start:6.1f}s] {text}\n")
        sys.stderr.flush()


def run(
    command: Sequence[str],
    *,
    stdin: bytes | None = None,
    timeout: float = 120,
    check: bool = True,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end; a failure carries the command's own words."""
    try:
        result = subprocess.run(
            command,
            input=b"" if stdin is None else stdin,
            capture_output=True,
            timeout=timeout,
            env=env,
            cwd=cwd,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        said = ((expired.stdout or b"") + (expired.stderr or b"")).decode(errors="replace")
        raise RigError(
            f"no end within {timeout:.0f} s: {shlex.join(command)}\n{said[-2000:]}"
        ) from expired
    except FileNotFoundError as missing:
        raise RigError(f"not installed: {command[0]}") from missing
    if check and result.returncode != 0:
        said = (result.stdout + result.stderr).decode(errors="replace").strip()
        raise RigError(f"exit {result.returncode}: {shlex.join(command)[:400]}\n{said[-4000:]}")
    return result


def wait_for(what: str, look: Callable[[], T | None], timeout: float, interval: float = 0.2) -> T:
    """Look until there is something; the last refusal is part of the error."""
    deadline = time.monotonic() + timeout
    problem = ""
    while True:
        try:
            found = look()
        except (RigError, OSError) as error:
            found, problem = None, f" (last: {error})"
        if found is not None:
            return found
        if time.monotonic() > deadline:
            raise RigError(f"not within {timeout:.0f} s: {what}{problem}")
        time.sleep(interval)


def wait_until(what: str, holds: Callable[[], bool], timeout: float, interval: float = 0.2) -> None:
    wait_for(what, lambda: holds() or None, timeout, interval)
