"""What is offered while somebody types: from the commands themselves and from local files only."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from kschedpatch.cli import completing, options
from kschedpatch.cli.app import whole_app
from kschedpatch.cli.completing import DIRECTORIES, FILES, NOTHING
from kschedpatch.cli.options import Format
from kschedpatch.cli.seenruns import remember, seen
from kschedpatch.inputs.recipes import all_recipes
from kschedpatch.model.outcome import Outcome
from tests.unit.command_line import run

HOSTILE = [
    "x$(reboot)",
    "`id`",
    "a;b",
    "ev\x1b[31mil",
    "b\u202ead",
    "-oProxyCommand=x",
    "a'b",
    "*.io",
]


def offered(*words: str) -> tuple[list[str], int]:
    answer = completing.answered(words)
    return [choice.value for choice in answer.choices], answer.directive


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any files of ssh's."""
    (tmp_path / ".ssh").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KSCHEDPATCH_NODES", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def shut_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Nothing may be reached or started; that errors are swallowed must not hide it."""
    tried: list[object] = []

    def no(what: str) -> Callable[..., None]:
        def refuse(*arguments: object, **_named: object) -> None:
            tried.append((what, arguments))
            raise AssertionError(what)

        return refuse

    monkeypatch.setattr(socket.socket, "connect", no("connect"))
    monkeypatch.setattr(socket, "getaddrinfo", no("resolve"))
    monkeypatch.setattr(subprocess, "Popen", no("start"))
    monkeypatch.setattr(os, "system", no("start"))
    monkeypatch.setitem(sys.modules, "paramiko", None)
    yield
    assert tried == []


def test_commands() -> None:
    names, directive = offered("")
    assert {"plan", "apply", "rollback", "completion", "sandbox"} <= {*names}
    assert directive == NOTHING
    assert offered("st") == (["status"], NOTHING)
    assert offered("sandbox", "") == (["demo", "up", "down"], NOTHING)
    assert offered("nonsense", "") == ([], NOTHING)


def test_flags_that_are_not_there_yet() -> None:
    names, _ = offered("apply", "--yes", "--arg", "v=5", "-")
    assert "--yes" not in names
    assert "-y" not in names
    assert "--arg" in names  # may be there again
    assert {"--help", "-h", "-f", "--file"} <= {*names}
    assert offered("apply", "--on") == (["--on-failure"], NOTHING)
    assert offered("status", "--", "--o") == ([], NOTHING)


@pytest.mark.parametrize(
    "words, values",
    [
        (("apply", "--on-failure", ""), ["rollback-all", "rollback-node", "stop"]),
        (("apply", "--on-failure=st",), ["--on-failure=stop"]),
        (("plan", "-o", "j"), ["json"]),
        (("plan", "-qo", "y"), ["yaml"]),
        (("status", "--transport", "o"), ["openssh"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("rollback", "--to", ""), ["original"]),
        (("history", "--diff", "original", "n"), ["now"]),
        (("migrate", "--to", "1.35"), ["1.35"]),
        (("apply", "--reason", ""), []),
        (("apply", "--yes=",), []),
    ],
)  # fmt: skip
def test_values(words: tuple[str, ...], values: list[str]) -> None:
    assert offered(*words) == (values, NOTHING)


def test_recipes() -> None:
    names = [recipe.name for recipe in all_recipes()]
    assert offered("init", "") == (names, NOTHING)
    assert offered("plan", "--recipe", "") == (names, NOTHING)
    assert offered("init", "gpumps", "") == ([], NOTHING)  # one is enough


def test_names_of_files_are_left_to_the_shell() -> None:
    assert offered("plan", "-f", "x") == ([], FILES)
    assert offered("plan", "--inventory=x") == ([], FILES)
    assert offered("render", "--out", "") == ([], DIRECTORIES)


def test_somebody_has_thought_about_every_flag() -> None:
    """A value that is neither offered nor left to the shell is one that nobody can know."""
    free = set("A,B IMAGE MANAGER NAME=VALUE NAMESPACE/NAME SECONDS TEXT".split())
    group: Any = get_command(whole_app())
    commands = [*group.commands.values(), *group.commands["sandbox"].commands.values()]
    options = [p for c in commands for p in c.params if p.param_type_name == "option"]
    shown = {p.metavar for p in options if p.metavar}
    assert shown <= free | {*completing.BY_METAVAR}
    assert {*completing.BY_METAVAR} <= shown


def test_nodes_of_the_ssh_configuration(home: Path) -> None:
    (home / ".ssh/config").write_text(
        "Include conf.d/*.conf more missing\nHost cp1 cp2 *.example.com !no\n  User=ops\n"
        'host="quoted" # comment\nMatch host inside\n'
    )
    (home / ".ssh/conf.d").mkdir()
    (home / ".ssh/conf.d/a.conf").write_text("Host in-dir\n")
    (home / ".ssh/conf.d/.hidden.conf").write_text("Host hidden\n")
    (home / ".ssh/more").write_text("Host more\nInclude config\n")  # in a circle
    (home / ".ssh/known_hosts").write_text(
        "cp1,10.0.0.1 ssh-ed25519 AAAA\n[jump.example.com]:2222 ssh-ed25519 AAAA\n"
        "|1|abc=|def= ssh-ed25519 AAAA\n@cert-authority *.example.com ssh-rsa AAAA\nlonely\n"
    )
    names = ["in-dir", "more", "cp1", "cp2", "quoted", "10.0.0.1", "jump.example.com:2222"]
    assert offered("status", "") == (names, NOTHING)
    assert offered("status", "cp1", "cp") == (["cp2"], NOTHING)
    assert offered("status", "root@cp") == (["root@cp1", "root@cp2"], NOTHING)
    other = home / "other"
    other.write_text("Host lab\n")
    assert "lab" in offered("plan", "--ssh-config", "~/other", "")[0]
    assert "more" not in offered("plan", f"--ssh-config={other}", "")[0]
    assert offered("status", "--local", "") == ([], NOTHING)


RUNS = ["20261117-080000-00aa", "20261116-204512-3fa9", "20261115-000000-0001"]


def told(*labels: str, run: str) -> dict[str, Any]:
    return {"run": run, "nodes": [{"node": label} for label in labels]}


def test_runs_that_commands_have_told_of(home: Path) -> None:
    newest, middle, oldest = RUNS
    remember({"runs": [told("cp1", "cp2", run=middle), told("cp1", run=oldest)]})
    remember(told("lab", "e v\x1bil", run=newest))
    remember({"deployment": "kube-system/second", "runs": [{"run": oldest}]})
    assert offered("rollback", "--to", "") == (["original", *RUNS], NOTHING)
    assert offered("rollback", "cp2", "--to", "2") == ([middle], NOTHING)
    assert offered("rollback", "--deployment", "kube-system/second", "--to", "2")[0] == [oldest]
    assert offered("history", "--diff", newest, "") == (["original", *RUNS, "now"], NOTHING)
    kept = home / ".cache/kschedpatch/runs"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "evil" not in kept.read_text()
    assert "\x1b" not in kept.read_text()


def test_results_are_remembered_and_refusals_are_not(home: Path) -> None:
    def show(kind: str, data: dict[str, Any]) -> None:
        with pytest.raises(typer.Exit):
            options.show(Outcome(kind, data=data), Format.TABLE, lambda _: "")

    show("PlanResult", told("cp1", run=RUNS[0]))
    show("ApplyResult", {})
    assert not (home / ".cache").exists()
    for kind, run_id in zip(("ApplyResult", "RollbackResult", "HistoryResult"), RUNS, strict=True):
        show(kind, told("cp1", run=run_id))
    assert seen() == tuple(RUNS)


@pytest.mark.parametrize("place", ["file", "directory", "nowhere"])
def test_runs_that_can_not_be_kept_are_passed_over(
    home: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "file":
        (home / ".cache").touch()
    elif place == "directory":
        (home / ".cache/kschedpatch/runs").mkdir(parents=True)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    remember(told("cp1", run=RUNS[0]))
    assert offered("rollback", "--to", "") == (["original"], NOTHING)


def test_kept_runs_are_bounded_and_foreign_lines_are_not_offered(home: Path) -> None:
    remember({"runs": [told("cp1", run=f"20260101-000000-{at:04x}") for at in range(300)]})
    assert len(seen()) == 100
    assert seen()[0].endswith("012b")
    (home / ".cache/kschedpatch/runs").write_bytes(b"$(id) cp1\n\xff\n\n20260101-000000-0000\n")
    assert seen() == ("20260101-000000-0000",)


def test_nodes_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSCHEDPATCH_NODES", "root@cp1:2222, cp2 -x")
    assert offered("status", "") == (["cp1", "cp2"], NOTHING)


@pytest.mark.parametrize(
    "name, text",
    [
        ("hosts.ini", "[kube_control_plane]\ncp[1:2]\n[workers]\nw1\n"),
        ("hosts.yaml", "kube_control_plane:\n  hosts:\n    cp1: {}\n    cp2: {}\n"),
    ],
)
def test_nodes_of_an_inventory_on_the_line(home: Path, name: str, text: str) -> None:
    (home / ".ssh/config").write_text("Host elsewhere\n")
    (home / name).write_text(text)
    assert offered("status", "--inventory", name, "") == (["cp1", "cp2"], NOTHING)
    assert offered("status", f"--inventory=~/{name}", "cp1", "c") == (["cp2"], NOTHING)


def test_hostile_names_are_not_offered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = " ".join(f'"{name}"' for name in HOSTILE)
    (home / ".ssh/config").write_text(f"Host {listed} good\n")
    (home / ".ssh/known_hosts").write_text("".join(f"{name} ssh-rsa AAAA\n" for name in HOSTILE))
    monkeypatch.setenv("KSCHEDPATCH_NODES", " ".join(HOSTILE))
    assert offered("status", "") == (["good"], NOTHING)
    assert offered("status", "$(id)@") == ([], NOTHING)
    hosts = "".join(f"    {name!r}: {{}}\n" for name in HOSTILE if "'" not in name)
    (home / "hosts.yaml").write_text(f"kube_control_plane:\n  hosts:\n    good: {{}}\n{hosts}")
    assert {*offered("status", "--inventory", "hosts.yaml", "")[0]} <= {"good"}


def _config(home: Path) -> Path:
    return home / ".ssh/config"


@pytest.mark.parametrize(
    "broken",
    [
        lambda home: _config(home).mkdir(),
        lambda home: os.mkfifo(_config(home)),
        lambda home: _config(home).symlink_to(_config(home)),
        lambda home: _config(home).write_bytes(b"\xff\xfe\x00Host \xc3\n" * 9),
        lambda home: _config(home).write_text('Host "never closed\n'),
        lambda home: _config(home).write_text("Include /proc/*/*/*\nInclude \x00\n"),
        lambda home: _config(home).write_text("Include config\n" * 5000),
        lambda home: _config(home).write_bytes(b"Host x\n" * 100_000),
        lambda home: (home / "inventory").write_text("[kube_control_plane]\ncp[9:1]\n"),
        lambda home: (home / "inventory").write_text("{" * 5000),
        lambda home: (home / "inventory").mkdir(),
    ],
)
def test_whatever_is_broken_is_passed_over_in_silence(
    home: Path, broken: Callable[[Path], object]
) -> None:
    broken(home)
    for words in (("status", ""), ("status", "--inventory", "inventory", "")):
        ran = run("__complete", "zsh", *words)
        assert (ran.code, ran.err, ran.out) == (0, "", ":4\n")


def test_the_answer_is_bounded(home: Path) -> None:
    _config(home).write_text("".join(f"Host cp{at}\n" for at in range(5000)))
    assert len(offered("status", "")[0]) == 500


@pytest.mark.parametrize("words", [(), ("bash",), ("zsh", "\udcff\x1b"), ("bash", "'", '"a b')])
def test_odd_words_get_an_answer(words: tuple[str, ...]) -> None:
    ran = run("__complete", *words)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith(":4\n")


def test_a_bug_of_ours_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_words: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(completing, "answered", broken)
    ran = run("__complete", "zsh", "")
    assert (ran.code, ran.err, ran.out) == (0, "", ":4\n")


def test_bash_hands_over_quotes(home: Path) -> None:
    (home / "my hosts.ini").write_text("[control_plane]\ncp1\n")
    for typed in ("'my hosts.ini'", "my\\ hosts.ini"):
        assert run("__complete", "bash", "status", "--inventory", typed, "").out == "cp1\n:4\n"
    assert (
        run("__complete", "bash", "status", "--inventory", "my\\ hosts.ini", '"c').out[:4]
        == "cp1\n"
    )
