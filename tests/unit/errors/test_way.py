"""The way to a node ends in a sentence and in what to do about it, whichever way it breaks."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import paramiko
import pytest
from paramiko.ssh_exception import IncompatiblePeer

from kschedpatch.inputs.nodeaddresses import parse_address
from kschedpatch.node import openssh, route, sshconfig
from kschedpatch.node.bastions import Bastions, Link
from kschedpatch.node.become import NO_BECOME, Become, Secret
from kschedpatch.node.connectoptions import ConnectOptions
from kschedpatch.node.errors import (
    AuthenticationFailed,
    BecomeFailed,
    ConnectionLost,
    HostKeyChanged,
    HostKeyUnknown,
    NodeError,
    Unreachable,
)
from kschedpatch.node.handshake import handshake
from kschedpatch.node.hostkeys import HostKey, HostKeys
from kschedpatch.node.local import LocalTransport
from kschedpatch.node.paramiko_ssh import ParamikoTransport
from kschedpatch.node.process import ProcessChannel
from kschedpatch.node.session import Session
from kschedpatch.node.sshconfig import Destination
from kschedpatch.node.transport import Transport
from tests.nodescript import FRAMES

OPTIONS = ConnectOptions(connect_timeout=5)


def to(host: str = "127.0.0.1", port: int = 1, **more: Any) -> Destination:
    found = Destination(host, port, "root", (), False, False, (), None, (), (), None, None)
    return found._replace(**more)


@pytest.mark.parametrize(
    "words, kind, hint",
    [
        (b"@@@\nREMOTE HOST IDENTIFICATION HAS CHANGED!\n", HostKeyChanged, "set up anew"),
        (b"Host key verification failed.\n", HostKeyUnknown, "--accept-new-host-keys"),
        (b"root@cp1: Permission denied (publickey).\n", AuthenticationFailed, "--identity"),
        (b"ssh: connect to host cp1: No route\n", Unreachable, "try it by hand: ssh cp1"),
        (b"", Unreachable, "try it by hand"),
    ],
)
def test_what_ssh_says_is_explained(words: bytes, kind: type[NodeError], hint: str) -> None:
    error = openssh.explained("cp1", words, OPTIONS)
    assert type(error) is kind
    assert error.message.startswith("cp1: ")
    assert hint in error.hint


def test_without_an_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(Unreachable, match="cp1: there is no ssh on this machine"):
        openssh.open_openssh(parse_address("cp1"), OPTIONS)


def test_an_ssh_that_hangs_over_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(*words: object, **how: object) -> None:
        raise subprocess.TimeoutExpired("ssh", 30)

    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/ssh")
    monkeypatch.setattr(subprocess, "run", hangs)
    with pytest.raises(Unreachable, match="cp1: ssh -G does not answer"):
        sshconfig.resolve(parse_address("cp1"))


def fails_with(error: Exception) -> Callable[..., socket.socket]:
    def connect(*_: object) -> socket.socket:
        raise error

    return connect


@pytest.mark.parametrize(
    "error, words",
    [
        (socket.gaierror(), "nobody knows a host named 127.0.0.1"),
        (TimeoutError(), "127.0.0.1 port 1 does not answer within 5 s"),
        (ConnectionRefusedError(111, "Connection refused"), "port 1: Connection refused"),
    ],
)
def test_no_connection(error: Exception, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "create_connection", fails_with(error))
    with pytest.raises(Unreachable, match=words) as raised:
        route.connected(to(), OPTIONS, Bastions(), "cp1")
    assert raised.value.hint


class Bastion:
    """A connection to one that does not open a way further on."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def open_channel(self, *_: object, **__: object) -> None:
        raise self.error

    def borrow(self, *_: object, **__: object) -> Link:
        return Link(cast("paramiko.Transport", self), lambda: None)


@pytest.mark.parametrize(
    "error, words",
    [
        (paramiko.ChannelException(1, "Administratively prohibited"), "prohibited"),
        (paramiko.SSHException("Timeout opening channel."), "Timeout opening channel"),
    ],
)
def test_a_bastion_that_has_no_way(error: Exception, words: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("")
    options = OPTIONS._replace(ssh_config=tmp_path / "config")
    bastions = cast("Bastions", Bastion(error))
    with pytest.raises(Unreachable, match=f"the bastion jump has no way to .*{words}"):
        route.connected(to(jumps=("jump",)), options, bastions, "cp1")


@pytest.mark.parametrize(
    "there, words",
    [
        (to(jumps=("-bad",)), "cp1: ProxyJump: '-bad' starts with a dash"),
        (to(proxy_command="/nowhere/nc %h"), "the ProxyCommand can't be started"),
    ],
)
def test_a_way_that_is_written_wrong(there: Destination, words: str) -> None:
    with pytest.raises(Unreachable, match=words) as raised:
        route.connected(there, OPTIONS, Bastions(), "cp1")
    assert raised.value.hint


def test_jumps_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("Host a\n  ProxyJump b\nHost b\n  ProxyJump a\n")
    options = OPTIONS._replace(ssh_config=tmp_path / "config")
    with pytest.raises(Unreachable, match="more than 8 jumps"):
        route.connected(to(jumps=("a",)), options, Bastions(), "cp1")


def shaken(options: ConnectOptions = OPTIONS) -> None:
    """The other side hangs up at once."""
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        handshake(ours, to(), options, "cp1")


def test_no_ssh_server_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unreachable, match="cp1: no SSH server answers there"):
        shaken()

    def too_old(*_: object, **__: object) -> None:
        raise IncompatiblePeer("no matching cipher")

    monkeypatch.setattr(paramiko.Transport, "start_client", too_old)
    with pytest.raises(Unreachable, match="no common algorithm with the SSH server") as raised:
        shaken()
    assert "--transport openssh" in raised.value.hint


def test_nobody_is_let_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = paramiko.RSAKey.generate(1024)
    (tmp_path / "known").write_text(f"[127.0.0.1]:1 ssh-rsa {key.get_base64()}\n")
    monkeypatch.setattr(paramiko.Transport, "start_client", lambda *_, **__: None)
    monkeypatch.setattr(paramiko.Transport, "get_remote_server_key", lambda _: key)
    with pytest.raises(AuthenticationFailed, match="does not let root in") as raised:
        shaken(options=OPTIONS._replace(known_hosts=tmp_path / "known"))
    assert "there was none to offer" in raised.value.message
    assert "--identity" in raised.value.hint


def test_a_host_that_only_an_authority_knows(tmp_path: Path) -> None:
    (tmp_path / "known").write_text("@cert-authority * ssh-ed25519 AAAA\n")
    keys = HostKeys(to(), "cp1", only=tmp_path / "known")
    with pytest.raises(HostKeyUnknown, match="only a certificate authority is known"):
        keys.check(HostKey("ssh-ed25519", b"x"))


class Instead(LocalTransport):
    """A machine on which another command runs than was asked for: PROMPT is that of sudo, whose
    first call, without one, says that it needs a password."""

    def __init__(self, command: str, lost_code: int | None = None) -> None:
        super().__init__("cp1")
        self.command = command
        self.lost_code = lost_code

    def open(self, command: str) -> ProcessChannel:
        asked = re.search(r"\[kschedpatch-\w+\]", command)
        instead = self.command.replace("PROMPT", asked[0] if asked else "")
        if asked is None and "sleep" in instead:
            instead = "echo 'sudo: a password is required' >&2; exit 1"
        return ProcessChannel(self.label, ["/bin/sh", "-c", instead], lost_code=self.lost_code)


@pytest.mark.parametrize(
    "command, password, words",
    [
        ("echo 'ops is not in the sudoers file' >&2; exit 1", "", "sudo refuses: ops is not"),
        ("printf 'PROMPTPROMPT' >&2; sleep 5", "secret", "sudo does not take the password"),
        ("echo Token: >&2; sleep 5", "secret", "sudo neither starts nor asks.*: Token:"),
    ],
)
def test_sudo_says_no(
    command: str, password: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kschedpatch.node.shell.START_TIMEOUT", 0.5)
    become = Become(password=Secret(password) if password else None)
    with pytest.raises(BecomeFailed, match=words) as raised:
        Session(Instead(command), become, FRAMES).call("facts", timeout=20)
    assert raised.value.nothing_happened
    assert raised.value.hint
    assert "secret" not in str(raised.value)


def test_an_ssh_that_ends_under_a_call() -> None:
    with pytest.raises(ConnectionLost, match="the connection was lost during «facts»: broken"):
        Session(Instead("echo broken >&2; exit 255", 255), Become(), FRAMES).call(
            "facts", timeout=20
        )


class Dead:
    """What is left of a connection."""

    def open_session(self, timeout: float) -> None:
        raise EOFError


def test_a_connection_that_is_gone_before_the_next_command() -> None:
    gone = ParamikoTransport("cp1", cast("paramiko.Transport", Dead()), lambda: None)
    with pytest.raises(ConnectionLost, match="cp1: the connection was lost: the other side"):
        gone.open("true")


class Cut:
    """A channel whose other end is gone without a word."""

    def receive(self, timeout: float) -> bytes:
        return b""

    def exit_code(self, timeout: float) -> None:
        return None

    def close(self) -> None: ...


def test_a_command_that_nobody_heard_the_end_of() -> None:
    transport = SimpleNamespace(label="cp1", open=lambda _: Cut())
    with pytest.raises(ConnectionLost, match="lost during «facts»: its shell ended") as raised:
        Session(cast("Transport", transport), NO_BECOME, FRAMES).call("facts", timeout=5)
    assert "kschedpatch status" in raised.value.hint
