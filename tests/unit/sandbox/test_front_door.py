"""sandbox demo, up and down: what is decided without a node."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import paramiko
import pytest
from hatchling.builders.wheel import WheelBuilder

from kschedpatch.inputs.files import NamedText
from kschedpatch.inputs.loading import load_patch
from kschedpatch.inputs.quickflags import QuickFlags
from kschedpatch.inputs.recipes import recipe_named
from kschedpatch.model import exitcodes
from kschedpatch.sandbox import residence
from kschedpatch.sandbox.demosteps import STEPS, Manifests, Step, command_line, paragraph, verdict
from kschedpatch.sandbox.imagehabits import MAIN_POD, habits
from kschedpatch.sandbox.needs import Machine, Place, lacks, look_at_machine, look_at_place
from kschedpatch.sandbox.operatorfiles import IMAGES, Door, patches, ssh_config
from kschedpatch.sandbox.residence import Keeper, Process
from tests.unit.command_line import run

ROOT = Path(__file__).parents[3]
HERE = Place(Path("/home/ops/.local/state/kschedpatch"))


@pytest.mark.parametrize(
    "machine, place, words",
    [
        (Machine("darwin"), HERE, "this is darwin, and a sandbox needs Linux"),
        (Machine(shows_processes=False), HERE, "/proc is not mounted"),
        (Machine(missing_programs=("mkfifo", "sed")), HERE, "not installed: mkfifo, sed."),
        (Machine(has_loopback=False), HERE, "nothing can listen on 127.0.0.1"),
        (Machine(), Place(Path("/x"), "Read-only file system"), "to /x: Read-only file system."),
        (Machine(), Place(Path("/x"), runs_programs=False), "noexec"),
        (Machine(), Place(Path("/home/My Name")), "an SSH configuration can't name such a path"),
        (Machine(), Place(Path("/srv/50%")), "an SSH configuration can't name such a path"),
    ],
)
def test_what_is_missing_is_named(machine: Machine, place: Place, words: str) -> None:
    (lack,) = lacks(machine, place)
    assert words in str(lack)
    assert lack.hint


def test_everything_that_is_missing_is_named_at_once() -> None:
    machine = Machine(missing_programs=("sed",), has_loopback=False)
    assert len(lacks(machine, Place(Path("/x"), runs_programs=False))) == 3
    assert lacks(Machine(), HERE) == ()


def test_this_machine_will_do(tmp_path: Path) -> None:
    assert lacks(look_at_machine(), look_at_place(tmp_path)) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_missing_program_stops_it_before_anything_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    for command, end in (("demo", "Nothing was started, and nothing is left.\n"), ("up", "")):
        ran = run("sandbox", command)
        assert (ran.code, ran.out) == (exitcodes.REFUSED, "")
        assert "mkfifo" in ran.err
        assert ran.err.endswith(end or "Nothing was started.\n")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "environment, first",
    [
        ({"HOME": "/home/ops"}, "/home/ops/.local/state/kschedpatch"),
        ({"HOME": "/home/ops", "XDG_STATE_HOME": "/state"}, "/state/kschedpatch"),
        ({"HOME": "/home/ops", "XDG_STATE_HOME": "state"}, "/home/ops/.local/state/kschedpatch"),
        ({}, "/scratch/kschedpatch-7"),
    ],
)
def test_where_it_lives(environment: dict[str, str], first: str) -> None:
    places = residence.state_directory(environment, 7, Path("/scratch"))
    assert (str(places[0]), str(places[-1])) == (first, "/scratch/kschedpatch-7")


def test_a_command_line_fits_and_can_be_pasted() -> None:
    for step in STEPS:
        for columns in (60, 80, 120):
            shown = command_line(step.words, columns)
            assert max(map(len, shown.splitlines())) <= columns
            joined = shown.replace(" \\\n   ", "")
            assert joined == "$ kschedpatch " + " ".join(step.words)
        assert max(map(len, paragraph(step.why, 80).splitlines())) <= 80


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.title)
def test_a_step_that_goes_otherwise_is_noticed(step: Step) -> None:
    other = next(stands for stands in Manifests if stands is not step.stands)
    assert verdict(step, step.code, step.stands) == ""
    assert "exit code 70" in verdict(step, 70, step.stands)
    assert other.value in verdict(step, step.code, other)
    assert "another" in verdict(step, step.code, None)


def test_the_ssh_configuration_says_it_all(tmp_path: Path) -> None:
    text = ssh_config([Door("cp1", 4001), Door("cp2", 4002)], tmp_path)
    found = paramiko.SSHConfig.from_text(text).lookup("cp2")
    assert (found["hostname"], found["port"], found["user"]) == ("127.0.0.1", "4002", "root")
    assert list(found["identityfile"]) == [str(tmp_path / "identity")]
    assert found["userknownhostsfile"] == str(tmp_path / "known_hosts")
    assert found["identitiesonly"] == "yes"


def test_the_patches_are_the_recipe_with_other_images() -> None:
    recipe = recipe_named("gpumps").files()
    made = patches(recipe)
    assert set(made) == {*recipe, *IMAGES}
    for name, image in IMAGES.items():
        assert made[name].count(image.encode() + b"\n") == 1
        loaded = load_patch(NamedText(name, made[name], recipe_named("gpumps").path.parent), NONE)
        assert loaded.findings == (), "no placeholder is left"
        changed = set(made[name].splitlines()) - set(recipe["gpumps.yaml"].splitlines())
        assert len(changed) == 1


NONE = QuickFlags()


def test_what_the_images_of_the_sandbox_do() -> None:
    found = {name: habits(image, MAIN_POD) for name, image in IMAGES.items()}
    assert found["gpumps.yaml"].books_mps
    assert not found["without-plugin.yaml"].books_mps
    assert found["breaks-on-first-pod.yaml"].breaks_on_first_pod
    assert not found["gpumps.yaml"].breaks_on_first_pod


def test_a_record_is_found_again(tmp_path: Path) -> None:
    keeper = Keeper(residence.this_process(), ("cp1",), 4)
    assert residence.read_record(tmp_path) is None
    residence.write_record(tmp_path, keeper)
    assert residence.read_record(tmp_path) == keeper
    assert residence.is_running(keeper)
    (tmp_path / "sandbox.json").write_text('{"format": 2}')
    assert residence.read_record(tmp_path) is None


@pytest.mark.parametrize("difference", [{"started": 1}, {"boot": "another"}])
def test_another_process_with_the_same_id_is_left_alone(difference: dict[str, object]) -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        try:
            process = residence.seen(stranger.pid)
            assert process is not None
            recorded = process._replace(**difference)  # type: ignore[arg-type]
            assert not residence.is_running(Keeper(recorded, (), 4))
            assert residence.end(recorded)
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_its_own_process_is_ended() -> None:
    with subprocess.Popen(["sleep", "60"]) as own:
        process = residence.seen(own.pid)
        assert process is not None
        assert residence.end(process)
        own.wait(5)
    assert residence.seen(own.pid) is None
    assert residence.end(process), "it has ended already"
    assert residence.seen(os.getpid()) == residence.this_process()
    assert isinstance(process, Process)


def test_down_removes_what_a_killed_one_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    directory = tmp_path / "kschedpatch" / "sandbox"
    root = directory / "nodes/cp1/root"
    root.mkdir(parents=True)
    gone = residence.this_process()._replace(started=1)
    residence.write_record(directory, Keeper(gone, ("cp1",), 4))
    with subprocess.Popen(["sleep", "60"], env={"KSCHEDPATCH_ROOT": str(root)}) as left:
        ran = run("sandbox", "down")
        assert left.wait(5) < 0, "what ran on its nodes ends"
    assert (ran.code, "what one had left" in ran.out) == (0, True), ran.err
    assert list(tmp_path.iterdir()) == []
    again = run("sandbox", "down")
    assert (again.code, again.out) == (0, "No sandbox is up: nothing to end.\n")


def test_a_wheel_has_what_the_sandbox_needs() -> None:
    builder = WheelBuilder(str(ROOT))
    packed = {Path(file.path) for file in builder.recurse_included_files()}
    package = ROOT / "kschedpatch"
    for directory in ("sandbox/stubs", "sandbox/tree", "recipes/gpumps", "node/agent"):
        files = {path for path in (package / directory).iterdir() if path.is_file()}
        assert files
        assert files <= packed
