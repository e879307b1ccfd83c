"""sandbox demo, up and down as users run them: by a user without rights, without a terminal."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kschedpatch.sandbox import residence
from kschedpatch.sandbox.needs import PROGRAMS
from tests.printed import check_printed
from tests.shownpages import Shown, missing_line, shown_sessions

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/tutorial/sandbox.md"
NOBODY = 65534


class User(NamedTuple):
    """Somebody with a home and the program in the PATH."""

    home: Path
    environment: dict[str, str]
    identity: dict[str, Any]
    """For subprocess: who it is; nothing where the tests have no rights to lay down."""

    def starts(self, *words: str) -> subprocess.Popen[str]:
        out, err = (self.home / name for name in ("out", "err"))
        with out.open("w") as stdout, err.open("w") as stderr:
            return subprocess.Popen(
                words,
                cwd=self.home,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                text=True,
                start_new_session=True,
                **self.identity,
            )

    def types(self, line: str) -> subprocess.CompletedProcess[str]:
        code = self.starts("/bin/sh", "-ec", line).wait(300)
        if "\n" not in line:
            check_printed(shlex.split(line), self.said("out"), self.said("err"))
        return subprocess.CompletedProcess(line, code, self.said("out"), self.said("err"))

    def said(self, name: str) -> str:
        return (self.home / name).read_text("utf-8")

    def left(self) -> list[str]:
        """Files, and processes that know of them."""
        found = [str(path) for path in (self.home / "tmp").iterdir()]
        state = self.home / ".local/state/kschedpatch"
        found += [str(state)] if state.exists() else []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                except OSError:
                    continue
                if any(
                    str(path).encode() in text
                    for path in (self.home / "tmp/kschedpatch-demo-", state)
                ):
                    found.append(f"process {entry.name}")
        return found

    def leaves_nothing(self, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while self.left() and time.monotonic() < end:
            time.sleep(0.1)
        assert self.left() == []


def _program(user: int) -> list[str] | None:
    """An interpreter that this user may run, with this package: the tests' may be out of reach."""
    packages = [str(ROOT), *(path for path in sys.path if path.endswith("-packages"))]
    chosen = {"PYTHONPATH": ":".join(packages), "PATH": os.environ["PATH"]}
    for python in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        if python is None:
            continue
        again = (
            "import subprocess, sys, paramiko, kschedpatch; sys.exit(subprocess.call(sys.argv[1:]))"
        )
        command = [python, "-P", "-c", again, python, "-c", "import pydantic"]
        try:
            ran = subprocess.run(command, env=chosen, user=user, capture_output=True, check=False)
        except OSError:
            continue
        if ran.returncode == 0:
            return [f"PYTHONPATH={chosen['PYTHONPATH']}", python, "-P", "-m", "kschedpatch"]
    return None


@pytest.fixture
def user() -> Iterator[User]:
    # Not below pytest's own directory, which only its owner may enter.
    home = Path(tempfile.mkdtemp(prefix="front-door-"))
    program = _program(NOBODY) if os.geteuid() == 0 else None
    identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if program else {}
    program = program or [sys.executable, "-P", "-m", "kschedpatch"]
    for name in ("bin", "tmp"):
        (home / name).mkdir()
    file = home / "bin" / "kschedpatch"
    file.write_text(f'#!/bin/sh\nexec env {shlex.join(program)} "$@"\n')
    file.chmod(0o755)
    if identity:
        for path in (home, home / "tmp"):
            os.chown(path, NOBODY, NOBODY)
    environment = {
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "PATH": f"{home}/bin:/usr/local/bin:/usr/bin:/bin",
        "COLUMNS": "80",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    someone = User(home, environment, identity)
    yield someone
    someone.types("kschedpatch sandbox down")
    shutil.rmtree(home)


def session_id(session: list[Shown]) -> str:
    return session[0].command


@pytest.mark.parametrize("session", shown_sessions(PAGE), ids=session_id)
def test_the_page_is_true(session: list[Shown], user: User) -> None:
    """A block is one session of a shell; each of its commands succeeds. The demo has the programs
    that it says it needs, and no others: no ssh, for one."""
    is_demo = session_id(session) == "kschedpatch sandbox demo"
    if is_demo:
        for name in PROGRAMS:
            (user.home / "bin" / name).symlink_to(shutil.which(name) or "")
        user.environment["PATH"] = str(user.home / "bin")
    ran = user.types("\n".join(shown.command for shown in session))
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    shown = [line for command in session for line in command.output]
    assert missing_line(shown, ran.stdout.splitlines()) is None, ran.stdout
    user.leaves_nothing()
    if is_demo:
        assert re.search(r"^\d\d ok\b", ran.stdout, re.MULTILINE)  # what verify counts
        own = [line for line in ran.stdout.splitlines() if line.startswith(("$ ", "→ "))]
        assert len(own) == 12
        assert max(map(len, own)) <= 80
        assert "\x1b" not in ran.stdout + ran.stderr


def until_switching(user: User, demo: subprocess.Popen[str]) -> None:
    """In the midst of it: nodes run, a dead man is armed, a command is at work."""
    end = time.monotonic() + 120
    while "the old pod ends" not in user.said("err"):
        assert demo.poll() is None, user.said("err")
        assert time.monotonic() < end, user.said("err")
        time.sleep(0.05)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_demo_that_is_ended_leaves_nothing_behind(sign: signal.Signals, user: User) -> None:
    demo = user.starts("kschedpatch", "sandbox", "demo")
    until_switching(user, demo)
    assert user.left()
    demo.send_signal(sign)
    code = demo.wait(60)
    user.leaves_nothing()
    if sign is not signal.SIGKILL:
        assert code == 130
        assert "Interrupted: the nodes and their files are gone." in user.said("err")


@pytest.mark.sample
def test_up_and_down(user: User) -> None:
    ran = user.types("kschedpatch sandbox up --nodes 2 -o json")
    assert ran.returncode == 0, ran.stderr
    made = json.loads(ran.stdout)
    assert (made["changed"], made["nodes"]) == (True, ["cp1", "cp2"])
    directory = Path(made["directory"])
    assert directory == user.home / ".local/state/kschedpatch/sandbox"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "identity").stat().st_mode) == 0o600

    again = user.types("kschedpatch sandbox up")
    assert again.returncode == 0
    assert again.stdout.startswith("The sandbox is up already: cp1 cp2.")
    assert "it has 2 nodes" in again.stderr
    status = user.types(f"cd {directory}; kschedpatch status --ssh-config ssh_config cp1 cp2")
    assert (status.returncode, status.stdout.count(" none ")) == (0, 2), status.stderr

    down = user.types("kschedpatch sandbox down -o json")
    assert (down.returncode, json.loads(down.stdout)["changed"]) == (0, True), down.stderr
    assert residence.seen(made["process"]) is None
    user.leaves_nothing()
    nothing = user.types("kschedpatch sandbox down")
    assert (nothing.returncode, nothing.stdout) == (0, "No sandbox is up: nothing to end.\n")


def test_a_keeper_that_was_killed_is_replaced(user: User) -> None:
    first = json.loads(user.types("kschedpatch sandbox up --nodes 1 -o json").stdout)
    os.kill(first["process"], signal.SIGKILL)
    second = json.loads(user.types("kschedpatch sandbox up --nodes 1 -o json").stdout)
    assert second["changed"] is True
    assert second["process"] != first["process"]
