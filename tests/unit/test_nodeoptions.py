"""Which nodes were meant, and what is asked before anything begins."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from kschedpatch.cli import nodeoptions
from kschedpatch.cli.nodeoptions import SshTransport, chosen_nodes, connect_options
from kschedpatch.inputs.nodeaddresses import parse_addresses
from kschedpatch.node.become import Elevation
from kschedpatch.node.connectoptions import TransportKind


class Terminal:
    """A person at a terminal, with answers ready."""

    def __init__(self, answers: list[str] | None) -> None:
        self.answers = answers
        self.questions: list[str] = []

    def isatty(self) -> bool:
        return self.answers is not None

    def ask(self, question: str) -> str:
        self.questions.append(question)
        assert self.answers is not None
        return self.answers.pop(0)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Terminal:
    person = Terminal([])
    monkeypatch.setattr("sys.stdin", person)
    monkeypatch.setattr("getpass.getpass", person.ask)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.delenv(nodeoptions.NODES_VARIABLE, raising=False)
    (tmp_path / "ssh_config").write_text("IdentityFile none\n")
    return person


def access(directory: Path, **changes: Any) -> nodeoptions.Access:
    settings: dict[str, Any] = {
        "local": False,
        "identity": None,
        "known_hosts": None,
        "ssh_config": str(directory / "ssh_config"),
        "transport": SshTransport.PARAMIKO,
        "accept_new_host_keys": False,
        "ask_become_pass": False,
        "connect_timeout": None,
    }
    return connect_options(parse_addresses(["cp1", "cp2"]), **{**settings, **changes})


def refused(capsys: pytest.CaptureFixture[str], call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(typer.Exit) as raised:
        call(*args, **kwargs)
    assert raised.value.exit_code == 2
    return capsys.readouterr().err


@pytest.mark.usefixtures("terminal")
def test_nodes_are_arguments_or_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_nodes(["root@cp1:22"], None, local=False)[0][:3] == ("cp1", 22, "root")
    monkeypatch.setenv("KSCHEDPATCH_NODES", " cp1, root@cp2\ncp3 ")
    assert [n.host for n in chosen_nodes(None, None, local=False)] == ["cp1", "cp2", "cp3"]
    assert [n.host for n in chosen_nodes(["cp9"], None, local=False)] == ["cp9"]  # said is said
    assert [n.label for n in chosen_nodes(None, None, local=True)] == ["this machine"]


@pytest.mark.usefixtures("terminal")
def test_nodes_of_an_inventory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inventory = tmp_path / "hosts.ini"
    inventory.write_text("[kube-master]\ncp1 ansible_ssh_common_args='-J x'\n")
    assert [n.host for n in chosen_nodes([], str(inventory), local=False)] == ["cp1"]
    assert "ansible_ssh_common_args" in capsys.readouterr().err
    inventory.write_text("[kube-master]\ncp[1:3] ansible_user=ops\n[other]\nworker\n")
    some = chosen_nodes(["cp3", "cp1", "cp3"], str(inventory), local=False)
    assert [(n.host, n.user) for n in some] == [("cp3", "ops"), ("cp1", "ops")]
    for foreign in ("worker", "ops@cp1"):
        told = refused(capsys, chosen_nodes, ["cp1", foreign], str(inventory), local=False)
        assert f"{foreign!r} is not in the group kube-master" in told
        assert "it has cp1, cp2, cp3." in told
    inventory.write_text("[kube-master]\ncp[2:1]\n")
    assert f"{inventory}:2:" in refused(capsys, chosen_nodes, [], str(inventory), local=False)


@pytest.mark.usefixtures("terminal")
def test_no_node_or_two_ways_are_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "KSCHEDPATCH_NODES" in refused(capsys, chosen_nodes, None, None, local=False)
    assert "--local" in refused(capsys, chosen_nodes, ["cp1"], None, local=True)
    assert "--inventory" in refused(capsys, chosen_nodes, None, "hosts", local=True)
    assert "dash" in refused(capsys, chosen_nodes, ["-oProxyCommand=x"], None, local=False)
    monkeypatch.setenv("KSCHEDPATCH_NODES", "cp1:0")
    assert "KSCHEDPATCH_NODES: " in refused(capsys, chosen_nodes, None, None, local=False)


def test_sudo_is_asked_once_and_hidden(terminal: Terminal, tmp_path: Path) -> None:
    terminal.answers = ["geheim"]
    found = access(tmp_path, ask_become_pass=True)
    assert len(terminal.questions) == 1
    assert found.become.elevation is Elevation.WHERE_NEEDED
    assert found.become.password is not None
    assert found.become.password.reveal() == "geheim"
    assert "geheim" not in f"{found!r} {found}"


def test_sudo_without_a_terminal_or_a_password(
    terminal: Terminal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.answers = [""]
    assert "empty" in refused(capsys, access, tmp_path, ask_become_pass=True)
    terminal.answers = None
    assert "NOPASSWD" in refused(capsys, access, tmp_path, ask_become_pass=True)


def test_the_pass_phrase_of_a_key_is_asked_before_anything_and_once(
    terminal: Terminal, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "sesame", "-f", str(key)]
    subprocess.run(command, check=True)
    terminal.answers = ["wrong", "sesame"]
    found = access(tmp_path, identity=str(key))
    assert found.connect.identity == key
    assert found.connect.keys is not None
    assert found.connect.keys.load(key) is not None
    assert [str(key) in question for question in terminal.questions] == [True, True]
    # From the configuration it is asked for where there is no agent to do without it.
    (tmp_path / "ssh_config").write_text(f"IdentityFile {key}\n")
    terminal.answers, terminal.questions = [""], []
    keys = access(tmp_path).connect.keys
    assert keys is not None
    assert len(terminal.questions) == 1
    assert keys.still_locked(key)
    assert keys.load(key) is None  # sealed: no further question


@pytest.mark.usefixtures("terminal")
def test_how_nodes_are_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert access(tmp_path, local=True).connect.kind is TransportKind.LOCAL
    openssh = access(tmp_path, transport=SshTransport.OPENSSH, connect_timeout=7.0).connect
    assert (openssh.kind, openssh.connect_timeout) == (TransportKind.OPENSSH, 7.0)
    new = tmp_path / "new_known_hosts"
    assert access(tmp_path, known_hosts=str(new), accept_new_host_keys=True).connect.accept_new
    for flag in ("identity", "ssh_config", "known_hosts"):
        message = refused(capsys, access, tmp_path, **{flag: str(tmp_path / "none")})
        assert f"--{flag.replace('_', '-')} " in message


@pytest.mark.usefixtures("terminal")
def test_what_ssh_says_of_the_nodes_is_kept_for_their_connections(tmp_path: Path) -> None:
    (tmp_path / "ssh_config").write_text("IdentityFile none\nHost cp2\n  Hostname 192.0.2.2\n")
    found = access(tmp_path).connect.found
    assert found is not None
    assert {node.label: there.host for node, there in found.items()} == {
        "cp1": "cp1",
        "cp2": "192.0.2.2",
    }
