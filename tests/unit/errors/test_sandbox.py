"""A sandbox that does not start, or does not go, says why, and what is left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.sandbox import demo, demoplay, residence, starting
from kschedpatch.sandbox.residence import Keeper
from tests.unit.command_line import run


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "kschedpatch/sandbox"


@pytest.fixture
def keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is run in the place of the process that keeps a sandbox: a module of this name."""
    monkeypatch.setattr(starting, "_KEEPER", "own_keeper")
    (tmp_path / "modules").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    return tmp_path / "modules/own_keeper.py"


@pytest.mark.parametrize(
    "program, words",
    [
        ("import sys\nsys.exit('no such thing')\n", "the nodes did not come up: no such thing"),
        ('print(\'{"problem": "no port"}\')\n', "the nodes did not come up: no port"),
        ("print('{}')\n", "the nodes did not write down that they run"),
    ],
)
def test_nodes_that_do_not_come_up(program: str, words: str, keeper: Path, place: Path) -> None:
    keeper.write_text(program)
    ran = run("sandbox", "up")
    assert (ran.code, ran.out) == (exitcodes.REFUSED, "")
    assert ran.err == f"Error: {words}\nNothing was started.\n"
    assert not place.exists()


def test_a_place_that_is_nobody_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kschedpatch").write_text("a file")
    (tmp_path / f"kschedpatch-{os.geteuid()}").write_text("a file")
    ran = run("sandbox", "up")
    assert ran.code == exitcodes.REFUSED
    assert "File exists" in ran.err
    assert "Name a directory of yours in XDG_STATE_HOME." in ran.err


def test_a_directory_that_can_t_be_removed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.mkdir(parents=True)
    monkeypatch.setattr(residence, "remove", lambda _: False)
    ran = run("sandbox", "down")
    assert ran.code == exitcodes.NOT_RESTORED
    assert f"{place} could not be removed" in ran.err


def test_a_process_that_does_not_end(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.mkdir(parents=True)
    residence.write_record(place, Keeper(residence.this_process(), ("cp1",), 4))
    monkeypatch.setattr(residence, "end", lambda _: False)
    ran = run("sandbox", "down")
    assert ran.code == exitcodes.NOT_RESTORED
    assert f"process {os.getpid()} does not end. Nothing was removed." in ran.err
    assert place.exists()


class Quiet(starting.Held):
    """No process at all."""

    def __init__(self, directory: Path, nodes: int, speed: int) -> None:
        self.directory = directory
        self._is_held = False

    def wait_ready(self) -> None: ...


@pytest.mark.parametrize(
    "happens, code, words",
    [
        (KeyboardInterrupt(), exitcodes.INTERRUPTED, "Interrupted: the nodes and their files"),
        (None, exitcodes.INTERNAL, "The demo did not go as it should: step 1, "),
    ],
)
def test_a_demo_that_goes_otherwise(
    happens: BaseException | None,
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ended(*_: object) -> int:
        if happens is not None:
            raise happens
        return 70

    monkeypatch.setattr(demo, "Held", Quiet)
    monkeypatch.setattr(demo.SandboxStage, "manifests", lambda _: (b"",))
    monkeypatch.setattr(demoplay, "_run", ended)
    ran = run("sandbox", "demo")
    assert ran.code == code
    assert words in ran.err
    assert list(tmp_path.iterdir()) == [], "nothing is left"
