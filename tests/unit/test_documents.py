"""README and docs are true: every command they show is run, and what they show of its output is
there; generated pages are what the code generates; links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from kschedpatch.inputs.patchfile import read_patch
from kschedpatch.model.codes import CODES
from kschedpatch.report.reference import pages

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
# What runs this very test can't be run by it.
OURSELVES = {"make test"}


@dataclass(frozen=True)
class Shown:
    command: str
    output: list[str]


def shown_commands(path: Path) -> list[Shown]:
    commands = []
    for block in re.findall(r"^```console\n(.*?)^```", path.read_text("utf-8"), re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *output = part.rstrip("\n").split("\n")
            commands.append(Shown(command, output))
    return commands


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


def environment_is_current() -> bool:
    """Otherwise make would set up .venv anew, under the feet of this very process."""
    ready = ROOT / ".venv" / ".ready"
    inputs = (ROOT / "pyproject.toml", ROOT / "requirements.lock")
    return ready.exists() and all(path.stat().st_mtime <= ready.stat().st_mtime for path in inputs)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_do_what_is_shown(path: Path, tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "80",
    }
    for shown in shown_commands(path):
        if shown.command in OURSELVES:
            continue
        by_make = shown.command.startswith("make ")
        if by_make:
            assert environment_is_current(), "run make test: it brings .venv up to date first"
        ran = subprocess.run(
            ["/bin/sh", "-c", shown.command],
            cwd=ROOT if by_make else tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ran.returncode == 0, (shown.command, ran.stdout, ran.stderr)
        missing = missing_line(shown.output, ran.stdout.splitlines())
        assert missing is None, (shown.command, missing, ran.stdout)


def test_the_readme_shows_commands() -> None:
    commands = [shown.command for shown in shown_commands(ROOT / "README.md")]
    assert commands[0] == "make try"
    assert "make test" in commands
    assert "make test" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_a_shown_line_that_is_not_there_is_noticed() -> None:
    assert missing_line(["a", "…", "c"], ["a", "b", "c"]) is None
    assert missing_line(["c", "a"], ["a", "b", "c"]) == "a"


@pytest.mark.parametrize("name", pages())
def test_generated_pages_are_current(name: str) -> None:
    assert (ROOT / "docs/reference" / name).read_text("utf-8") == pages()[name], "run make docs"


def test_the_reference_page_lists_every_code_with_a_reason() -> None:
    page = pages()["findings.md"]
    for code in CODES.values():
        assert f"| {code.code} | {code.severity} |" in page
        assert len(code.why) > 15


def test_every_code_is_used() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "kschedpatch").rglob("*.py"))
    unused = [code for code in CODES if source.count(f'"{code}"') < 2]
    assert unused == []


def test_the_patch_file_page_shows_a_patch_that_is_accepted() -> None:
    page = (ROOT / "docs/reference/patch-file.md").read_text("utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.S)
    assert read_patch(example.encode(), "example").findings == ()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text("utf-8")):
        assert (path.parent / target).exists(), target
