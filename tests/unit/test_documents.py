"""README and docs are true: every command they show is run, and what they show of its output is
there; generated pages are what the code generates; links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from kschedpatch.cli.app import whole_app
from kschedpatch.inputs.patchfile import read_patch
from kschedpatch.model.codes import CODES
from kschedpatch.report.reference import pages
from tests.printed import check_printed
from tests.shownpages import (
    ELSEWHERE,
    ROOT,
    SANDBOX,
    missing_line,
    needs_nodes,
    shown_commands,
    shown_sessions,
    typed,
)

DOCUMENTS = sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
# What runs this very test can't be run by it.
OURSELVES = {"make test"}
DEMO = "kschedpatch sandbox demo"


def environment_is_current() -> bool:
    """Otherwise make would set up .venv anew, under the feet of this very process."""
    ready = ROOT / ".venv" / ".ready"
    inputs = (ROOT / "pyproject.toml", ROOT / "requirements.lock")
    return ready.exists() and all(path.stat().st_mtime <= ready.stat().st_mtime for path in inputs)


def make_demo_runs() -> str:
    """What make would do last, without doing it."""
    # Under another make it would tell that one as well where it is.
    words = ["make", "--no-print-directory", "--dry-run", "demo"]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()[-1]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_do_what_is_shown(path: Path, tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "80",
    }
    sessions = [session for session in shown_sessions(path) if not needs_nodes(session)]
    for shown in (one for session in sessions for one in session):
        if shown.command in OURSELVES or path in ELSEWHERE or shown.command == DEMO:
            continue
        if shown.command == "make demo":
            assert make_demo_runs() == f".venv/bin/{DEMO}"
            continue
        by_make = shown.command.startswith("make ")
        if by_make:
            assert environment_is_current(), "run make test: it brings .venv up to date first"
        ran = typed(shown, ROOT if by_make else tmp_path, environment)
        check_printed(shown.command.split(), ran.stdout, ran.stderr)


def test_the_readme_shows_commands() -> None:
    commands = [shown.command for shown in shown_commands(ROOT / "README.md")]
    assert commands[:3] == ["make demo", DEMO, "make try"]
    assert DEMO in [shown.command for shown in shown_commands(SANDBOX)]
    assert "make test" in commands
    assert "make test" in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.parametrize("path", ELSEWHERE, ids=lambda p: p.name)
def test_what_is_not_run_here_is_run_elsewhere(path: Path) -> None:
    assert shown_commands(path)
    tests = ROOT / ELSEWHERE[path]
    assert str(path.relative_to(ROOT)) in tests.read_text("utf-8")
    if "tests/integration" not in ELSEWHERE[path]:
        assert "make ansible-test" in (ROOT / ".ci" / "run").read_text("utf-8")


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


def named_commands() -> list[tuple[str, list[str]]]:
    """In sentences and in blocks that are for other machines: nobody runs them there as they are,
    but what they say must be what the program takes."""
    found = []
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        spans = re.findall(r"`kschedpatch ([^`\n]*)`|^    kschedpatch ([^\n]*)$", text, re.M)
        for span in spans:
            command = re.split(r" \\?\||…", "".join(span))[0]
            words = shlex.split(command.replace("SHELL", "bash"))
            if words and words[0] != "__complete":
                found.append((f"{path.relative_to(ROOT)}: {command}", words))
    return found


@pytest.mark.parametrize(
    "words", [pytest.param(words, id=name) for name, words in named_commands()]
)
def test_commands_in_sentences_are_taken(words: list[str]) -> None:
    """Parsed, not run; a flag without its value names the flag, and a bare command itself."""
    command: Any = get_command(whole_app())
    while words and isinstance(command, TyperGroup):
        name, *words = words
        assert name in command.commands, name
        command = command.commands[name]
    known = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= known
    if words and not words[-1].startswith("-"):
        command.make_context("kschedpatch", [*words])
