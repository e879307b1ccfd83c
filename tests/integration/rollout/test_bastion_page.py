"""docs/how-to/bastion-and-sudo.md: its commands and its SSH configuration, with sshds for a bastion
and for two simulated nodes behind it."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kschedpatch.node.become import Become, elevated
from kschedpatch.node.loader import loader_words
from kschedpatch.sandbox.sandbox import Sandbox
from tests.integration.rollout.rig import SPEED
from tests.integration.sshd import Sshd, make_key, needs_sshd
from tests.shownpages import Shown, shown_sessions, typed

PAGE = Path(__file__).parents[3] / "docs/how-to/bastion-and-sudo.md"
WAY, OPENSSH, HOST_KEYS, PASSWORD = shown_sessions(PAGE)
SECRET = "correct-horse-9c1e"  # noqa: S105  of a simulated sudo


def block(kind: str) -> str:
    (text,) = re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    return str(text)


class Office:
    """Nodes whose users are not root, behind a bastion; reached by the page's configuration."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.directory = directory
        self.sandbox = stack.enter_context(Sandbox(directory / "nodes", nodes=2, speed=SPEED))
        key = make_key(directory / "client")
        self.bastion = stack.enter_context(Sshd(directory / "bastion", client_key=key))
        doors = {"bastion": self.bastion}
        for node in self.sandbox.nodes:
            node.sudo("free")
            server = Sshd(directory / node.name, client_key=key, environment=node.environment())
            doors[node.name] = stack.enter_context(server)
        known = directory / "known_hosts"
        known.write_text("".join(server.known_hosts_line() for server in doors.values()))
        # Of two settings the first counts: these are where the names lead to here, and the rest,
        # ProxyJump above all, is the page's.
        here = "".join(
            f"Host {name}\n  HostName {server.address}\n  Port {server.port}\n"
            f"  User {server.user}\n  IdentityFile {key}\n"
            for name, server in doors.items()
        )
        rest = f"Host *\n  IdentityAgent none\n  UserKnownHostsFile {known}\n"
        (directory / "ssh_config").write_text(here + block("ssh-config") + rest)
        (directory / "empty").touch()
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "COLUMNS": "80"}

    def types(self, session: list[Shown]) -> str:
        ran = [typed(shown, self.directory, self.environment) for shown in session]
        return "".join(one.stdout + one.stderr for one in ran)

    def at_a_terminal(self, command: str, question: str, answer: str) -> tuple[int, str]:
        """Types the answer when the question is there."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=self.directory,
            env=self.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        said, asked, end = "", False, time.monotonic() + 120
        while time.monotonic() < end:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    said += os.read(ours, 65536).decode("utf-8", "replace")
                except OSError:  # everybody has closed the other end
                    break
            if question in said and not asked:
                asked = True
                os.write(ours, f"{answer}\n".encode())
        os.close(ours)
        return process.wait(30), said


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with ExitStack() as stack:
        yield Office(tmp_path_factory.mktemp("office"), stack)


@needs_sshd
def test_through_the_bastion(office: Office) -> None:
    before = office.bastion.connections()
    said = office.types(WAY)
    assert "cp1" in said
    assert "+    - --config=" in said  # the plan's
    # One by ssh itself, and one for each command of ours, however many nodes there are.
    assert office.bastion.connections() - before == len(WAY)


@needs_sshd
def test_by_the_systems_ssh(office: Office) -> None:
    before = office.bastion.connections()
    assert "cp2" in office.types(OPENSSH)
    assert office.bastion.connections() > before


@needs_sshd
def test_host_keys_are_refused_taken_and_known(office: Office) -> None:
    office.types(HOST_KEYS)
    assert len((office.directory / "empty").read_text().splitlines()) == 3  # the bastion's as well


@needs_sshd
def test_the_password_is_asked_for_once(office: Office) -> None:
    (shown,) = PASSWORD
    question = shown.output[0].strip()
    for node in office.sandbox.nodes:
        node.sudo("asks", SECRET)
    try:
        code, said = office.at_a_terminal(shown.command, question, SECRET)
    finally:
        for node in office.sandbox.nodes:
            node.sudo("free")
    assert (code, said.count(question)) == (0, 1), said
    assert "cp1" in said
    assert SECRET not in said


def test_the_rule_is_for_what_is_run() -> None:
    """sudo is told one program, sh, by name; the rule has it at both of its places."""
    words = elevated(Become(), loader_words("0" * 32), None)
    assert words[2].endswith('exec sudo -n -- "$@"')
    assert words[4] == "sh"
    rule = block("sudoers")
    assert rule == "ops ALL=(root) NOPASSWD: /bin/sh, /usr/bin/sh\n"
    visudo = shutil.which("visudo", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if visudo:
        subprocess.run([visudo, "-cf", "-"], input=rule.encode(), check=True, capture_output=True)
