"""The manual page: it is what the commands say, and man(1) has nothing to complain about."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kschedpatch.cli import manual
from kschedpatch.model import exitcodes
from kschedpatch.report.manpage import CommandHelp, OptionHelp, escaped, man_page, prose

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "docs/reference"


@pytest.mark.parametrize("name", manual.pages())
def test_pages_are_current(name: str) -> None:
    assert (COMMITTED / name).read_text("utf-8") == manual.pages()[name], "run make docs"


def formatted(page: str) -> str:
    """As a terminal shows it, without bold and underline; any warning fails."""
    if shutil.which("groff") is None:
        pytest.skip("there is no groff here")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-rLL=200n"],
        input=page,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)


def test_every_command_and_every_flag_is_shown() -> None:
    shown = formatted(manual.pages()["kschedpatch.1"])
    listed = [*manual.commands()]
    assert len(listed) > 15
    for command in listed:
        assert f"\n       kschedpatch {command.name}" in shown
        for option in command.options:
            for name in option.names:
                assert re.search(rf"(?<![\w-]){name}(?![\w-])", shown), (command.name, name)
    assert "source <(kschedpatch completion bash)      in ~/.bashrc" in shown
    assert "Default: rollback-all." in shown


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man here")
def test_man_has_no_warnings() -> None:
    command = ["man", "-l", "--warnings=w", str(COMMITTED / "kschedpatch.1")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""


HOSTILE = [
    ".so /etc/passwd",
    ".",
    "'br",
    "\\fBbold\\fR \\n(.x \\*[x]",
    "--a-b 'c' \"d\" `e",
    "«…» × ~ ^ \\",
    "\\\n.sh id",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_shown_as_it_is(text: str) -> None:
    option = OptionHelp((f"--{text}",), text, text, text)
    plain = " ".join(text.split())
    shown = formatted(man_page("s", [CommandHelp(text, text, (text,), (option,))]))
    assert shown.count(plain) >= 5, shown
    assert "root:" not in shown
    verbatim = formatted(man_page("s", [CommandHelp("x", "First.\n\n\b\n" + text)]))
    for line in text.splitlines():
        assert f"\n       {line}\n" in verbatim


def test_roff_signs() -> None:
    assert escaped(".x") == "\\&.x"
    assert escaped("a-b\\") == "a\\-b\\e"
    assert escaped("é\x07") == "\\[u00E9] "
    assert prose("say `plan --out`.") == "say \\fBplan \\-\\-out\\fR."
    assert prose("`.x`") == "\\fB\\&.x\\fR"
    assert prose(". x") == "\\&. x"


def test_every_exit_code_is_told() -> None:
    codes = {value for name, value in vars(exitcodes).items() if name.isupper()}
    page = manual.pages()["kschedpatch.1"].split(".SH EXIT STATUS")[1].split(".SH")[0]
    assert {int(code) for code in re.findall(r"^\\fB(\d+)\\fR$", page, re.M)} == codes


@pytest.mark.long
def test_the_wheel_brings_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for page in manual.pages():
        assert [name for name in names if name.endswith(f".data/data/share/man/man1/{page}")]
    assert "kschedpatch/cli/completions/bash.sh" in names
