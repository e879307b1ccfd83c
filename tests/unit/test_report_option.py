"""--report where no node is reached: it is written whatever happens, and never in the way."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from kschedpatch.cli import fleets, reports
from kschedpatch.model import exitcodes
from kschedpatch.report import directory
from tests.unit.command_line import run
from tests.unit.report.pages import Read, read

#: Nobody listens there.
NOWHERE = "127.0.0.1:1"
IMAGE = ("--image", "example.org/x:v1")
COMMANDS = [("apply", *IMAGE), ("plan", *IMAGE), ("verify",), ("rollback",)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.html"


def seen(file: Path) -> Read:
    return read(file.read_text("utf-8"))


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_run_that_reaches_nobody_has_a_page(words: tuple[str, ...], file: Path) -> None:
    plain = run(*words, NOWHERE)
    ran = run(*words, NOWHERE, "--report", str(file))
    assert (ran.code, ran.out) == (exitcodes.REFUSED, plain.out)
    page = seen(file)
    assert "Exit code 3" in page.flat
    assert {"N029", NOWHERE} <= set(page.text.split())
    assert page.lanes == {NOWHERE: {"connect"}}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file], "nothing else is left there"


def test_a_wrong_patch_and_a_wrong_usage_have_one_too(file: Path, tmp_path: Path) -> None:
    patch = tmp_path / "bad.yaml"
    patch.write_text("apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {}\n")
    ran = run("apply", "-f", str(patch), NOWHERE, "--report", str(file))
    assert ran.code == exitcodes.INVALID
    assert seen(file).title == "No node was contacted."
    assert "P002" in seen(file).text
    ran = run("apply", NOWHERE, "--report", str(file))
    assert ran.code == exitcodes.INVALID
    assert seen(file).title.startswith("nothing to work on")


def a_directory(file: Path) -> None:
    file.mkdir()


def a_file_as_directory(file: Path) -> None:
    file.parent.rmdir()
    file.parent.write_text("")


def no_directory(file: Path) -> None:
    file.parent.rmdir()


def a_pipe(file: Path) -> None:
    """As a device would be: not to be replaced by a file."""
    os.mkfifo(file)


@pytest.mark.parametrize("made", [a_directory, a_file_as_directory, no_directory, a_pipe])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_where_it_can_not_be_written_nothing_is_begun(
    words: tuple[str, ...], made: Callable[[Path], None], tmp_path: Path
) -> None:
    file = tmp_path / "there" / "run.html"
    file.parent.mkdir()
    made(file)
    ran = run(*words, NOWHERE, "--report", str(file))
    assert ran.code == exitcodes.INVALID
    assert ran.err.startswith("Error: --report: ")
    assert ran.err.endswith(". Nothing was changed.\n")
    assert "connecting" not in ran.err
    assert not file.is_file()


def full_disk(_path: Path, _text: str) -> None:
    raise directory.WriteError(os.strerror(errno.ENOSPC))


def a_bug(_path: Path, _text: str) -> None:
    raise KeyError("x")


@pytest.mark.parametrize("breaks", [full_disk, a_bug])
def test_one_that_fails_in_the_end_is_a_warning(
    breaks: Callable[[Path, str], None], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = directory.write_private

    def once(path: Path, text: str) -> None:
        monkeypatch.setattr(directory, "write_private", breaks)
        write(path, text)

    plain = run("rollback", NOWHERE)
    monkeypatch.setattr(directory, "write_private", once)
    ran = run("rollback", NOWHERE, "--report", str(file))
    assert (ran.code, ran.out) == (plain.code, plain.out)
    assert ran.err.splitlines()[-1].startswith("Warning: the report could not be written: ")
    assert seen(file).title.startswith("This run has not ended."), "of no other run"


@pytest.mark.parametrize(
    "error, code, words",
    [
        (KeyboardInterrupt(), exitcodes.INTERRUPTED, "Interrupted before it was done."),
        (typer.Exit(70), exitcodes.INTERNAL, "Internal error in the middle of a run. Nodes that"),
        (KeyError("x<"), exitcodes.INTERNAL, "Internal error, a bug of this program: KeyError"),
    ],
)
def test_ctrl_c_and_bugs(
    error: BaseException, code: int, words: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.delenv("KSCHEDPATCH_DEBUG", raising=False)
    monkeypatch.setattr(fleets, "connected", broken)
    ran = run("rollback", NOWHERE, "--report", str(file))
    assert ran.code == code
    assert seen(file).title.startswith(words)


def test_what_is_noted_without_a_report_goes_nowhere(file: Path) -> None:
    run("rollback", NOWHERE, "--report", str(file))
    reports.record().reason = "of another run"
    assert reports.record().reason == ""
    assert reports.record() is not reports.record()
