"""Wrong usage that is rarer than what the commands' own tests have: each is told in a sentence,
ends in 2, and has done nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer

from kschedpatch.cli import entry, fleets
from kschedpatch.core.fleet.planfile import encode
from kschedpatch.model import exitcodes
from kschedpatch.report import directory
from tests.unit.command_line import run
from tests.unit.fleet.nodes import three
from tests.unit.fleet.test_planning import planned

HEAD = "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: mine}\nspec:\n"
KUBEADM = str(Path(__file__).parents[3] / "fixtures/manifests/kubeadm/v1.34.yaml")
#: Nobody listens there.
NODE = "127.0.0.1:1"
LONG = "o" * 300
PLAN = encode(planned({"scheduler": {"args": {"v": "5"}}}, *three()))


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the command lines below name."""
    (tmp_path / "pod.yaml").write_text(HEAD + '  scheduler: {args: {v: "5"}}\n')
    deployment = "  target: {newDeployment: kube-system/packer}\n"
    profiles = "  config: {inline: {profiles: [{schedulerName: packing}]}}\n"
    (tmp_path / "deployment.yaml").write_text(HEAD + deployment + profiles)
    (tmp_path / "plan.json").write_text(PLAN)
    (tmp_path / "kubeconfig").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KSCHEDPATCH_NODES", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    "words, command",
    [
        ("--probe and --no-probe exclude each other", "apply -f pod.yaml --probe --no-probe cp1"),
        ("--stage-only is for a node that will", "apply -f pod.yaml --stage-only --persist cp1"),
        ("--persist goes with `plan --out`", "apply --plan plan.json --persist"),
        ("--kubeconfig goes with a patch", "apply --plan plan.json --kubeconfig kubeconfig"),
        ("--stage-only goes with a patch", f"apply --plan plan.json --stage-only {NODE}"),
        ("--persist is for the static pod", "apply -f deployment.yaml --persist cp1"),
        ("--persist and --partial exclude", "apply -f pod.yaml --persist --partial cp1"),
        ("only one file can be standard input", "export -f - --out o --manifest -"),
        ("only one file can be standard input", "lint -f - --manifest -"),
        (
            "file name too long. Nothing",
            f"render -f pod.yaml --out {LONG} --manifest {KUBEADM}",
        ),
        ("--base goes with the manifest", f"render -f deployment.yaml --base {KUBEADM}"),
        ("needs no nodes", "apply -f deployment.yaml --kubeconfig kubeconfig cp1"),
        ("for the static pod: name its nodes", "apply -f pod.yaml --kubeconfig kubeconfig"),
        ("--deployment and a patch exclude", "verify -f pod.yaml --deployment a/b cp1"),
        ("Say which: --deployment", "status --kubeconfig kubeconfig"),
        ("'gpu' is not NAMESPACE/NAME", "status --deployment gpu cp1"),
        ("--diff compares manifests", "history --diff original now --deployment a/b cp1"),
        ("--watch is for nodes", "status --watch --deployment a/b cp1"),
        ("--manifest goes with a patch", f"lint --manifest {KUBEADM}"),
        ("--write needs a file", "migrate -f - --to 1.34 --write"),
        ("--out: a plan for another version", "plan -f pod.yaml --out p --kubernetes-version 1.35"),
    ],
)
def test_it_is_told_and_nothing_is_done(words: str, command: str, files: Path) -> None:
    before = sorted(files.rglob("*"))
    ran = run(*command.split(" "))
    assert (ran.code, ran.out) == (exitcodes.INVALID, "")
    assert ran.err.startswith("Error: ")
    assert words in ran.err
    assert sorted(files.rglob("*")) == before


def test_a_version_for_a_deployment_s_plan() -> None:
    way = ("--kubeconfig", "kubeconfig", "--kubernetes-version", "1.34")
    ran = run("plan", "-f", "deployment.yaml", *way)
    assert (ran.code, "goes by the API server's" in ran.err) == (2, True)


def test_a_manifest_that_does_not_tell_its_version(files: Path) -> None:
    text = Path(KUBEADM).read_text("utf-8")
    image = next(line for line in text.splitlines() if "image:" in line)
    (files / "odd.yaml").write_text(text.replace(image, image.rpartition(":")[0] + ":latest"))
    ran = run("export", "-f", "pod.yaml", "--manifest", "odd.yaml", "--out", "o")
    assert (ran.code, "say --kubernetes-version" in ran.err) == (2, True), ran.err
    assert not (files / "o").exists()


def test_a_file_that_changes_under_a_migration(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"
    (files / "config.yaml").write_text(config)
    command = ("migrate", "-f", "config.yaml", "--to", "1.34", "--write", "--backup")
    (files / "config.yaml.orig").write_text("mine")
    ran = run(*command)
    assert ran.code == 2
    assert "config.yaml.orig exists already. Nothing was written." in ran.err
    (files / "config.yaml.orig").unlink()
    real = directory.replace_text

    def late(path: Path, before: str, after: str, *, keep: bool) -> None:
        path.write_text(before + "# mine\n")
        real(path, before, after, keep=keep)

    monkeypatch.setattr(directory, "replace_text", late)
    ran = run(*command)
    assert (ran.code, "was changed meanwhile" in ran.err) == (2, True)
    assert (files / "config.yaml").read_text() == config + "# mine\n"


class Full:
    """A terminal or pipe behind which there is no room."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise OSError(9, "Bad file descriptor")


@pytest.mark.parametrize(
    "command",
    [("recipes",), ("schema",), ("completion", "bash"), ("status", "--watch", NODE)],
)
def test_a_result_that_can_t_be_written(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kschedpatch", *command])
    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(SystemExit) as end:
        entry.main()
    assert end.value.code == exitcodes.INVALID
    said = capsys.readouterr().err
    last = said.splitlines()[-1]
    assert last.startswith("Error: the ")
    assert last.endswith("could not be written to standard output: No space left on device")


def test_ctrl_c_while_the_program_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "_run", interrupted)
    ran = run("status")
    assert (ran.code, ran.err) == (130, "Interrupted. Nothing was written.\n")


def test_without_a_terminal_nothing_goes_on_unasked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(typer.Exit) as end:
        fleets.asked_to_go_on("Apply this?", yes=False)
    assert end.value.exit_code == exitcodes.INVALID
    assert capsys.readouterr().err.endswith("add --yes. Nothing was changed.\n")


@pytest.mark.parametrize(
    "words, hint",
    [
        (("plan", "--image"), "Try 'kschedpatch plan -h' for help."),
        (("plan", "--bogus"), "Try 'kschedpatch plan -h' for help."),
        (("aply",), "Try 'kschedpatch -h' for help."),
    ],
)
def test_help_is_offered_for_the_command_that_was_typed(
    words: tuple[str, ...],
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["kschedpatch", *words])
    with pytest.raises(SystemExit) as end:
        entry.main()
    assert end.value.code == exitcodes.INVALID
    assert capsys.readouterr().err.splitlines()[-1] == hint
