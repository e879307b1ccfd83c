"""Commands that a page shows, and what it shows of their output."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SANDBOX = ROOT / "docs/tutorial/sandbox.md"
#: Pages whose commands need nodes or a network, and the tests that run them: those take their time.
#: Blocks about nodes in other pages are run by tests/integration/sandbox/test_pages.py.
ELSEWHERE = {
    SANDBOX: "tests/integration/sandbox/test_front_door.py",
    ROOT / "docs/how-to/air-gapped.md": "tests/integration/test_air_gapped_page.py",
    ROOT / "docs/how-to/ansible-and-ci.md": "tests/ansible/test_role.py",
    ROOT / "docs/how-to/bastion-and-sudo.md": "tests/integration/rollout/test_bastion_page.py",
    ROOT / "docs/how-to/recover-by-hand.md": "tests/integration/rollout/test_recover_by_hand.py",
}


@dataclass(frozen=True)
class Shown:
    command: str
    output: list[str]


def shown_sessions(path: Path) -> list[list[Shown]]:
    """A session is a block: what one of its commands does, the next ones find."""
    sessions = []
    for block in re.findall(r"^```console\n(.*?)^```", path.read_text("utf-8"), re.M | re.S):
        commands = []
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *output = part.rstrip("\n").split("\n")
            commands.append(Shown(command, output))
        sessions.append(commands)
    return sessions


def shown_commands(path: Path) -> list[Shown]:
    return [shown for session in shown_sessions(path) for shown in session]


def missing_line(shown: list[str], output: list[str]) -> str | None:
    """The first shown line that is not in the output, in order; … stands for anything."""
    at = 0
    for line in shown:
        if line == "…":
            continue
        try:
            at = output.index(line, at) + 1
        except ValueError:
            return line
    return None


def typed(
    shown: Shown, directory: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs a command as it is shown: it must succeed and say what is shown."""
    ran = subprocess.run(
        ["/bin/sh", "-ec", shown.command],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, (shown.command, ran.stdout, ran.stderr)
    missing = missing_line(shown.output, ran.stdout.splitlines())
    assert missing is None, (shown.command, missing, ran.stdout)
    return ran


def needs_nodes(session: list[Shown]) -> bool:
    """Whether a block is about nodes: a test with a sandbox runs it, with nodes of these names."""
    return any(re.search(r"\bcp1\b", shown.command) for shown in session)
