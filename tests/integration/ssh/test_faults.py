"""A connection that goes away, or a node that talks too much: told as what it is, and soon."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.connectoptions import ConnectOptions, TransportKind
from kschedpatch.node.errors import ConnectionLost, NodeError, NodeSpokeGarbage, OutputTooLarge
from kschedpatch.node.payload import bytes_payload
from kschedpatch.node.session import Session
from tests.integration.ssh.conftest import Lab
from tests.integration.sshd import Sshd
from tests.integration.tcpproxy import TcpProxy
from tests.nodescript import session_script

SSH_KINDS = [TransportKind.PARAMIKO, TransportKind.OPENSSH]
WAITING = "emit_step waiting; sleep 20; emit_end 0"


@pytest.fixture
def proxy(server: Sshd) -> Iterator[TcpProxy]:
    with TcpProxy((server.address, server.port)) as running:
        yield running


def through(lab: Lab, proxy: TcpProxy, kind: TransportKind, body: str = WAITING) -> Session:
    options = lab.options(kind)
    lab.config.write_text(lab.config.read_text() + f"HostKeyAlias {alias(lab)}\n")
    return Session(lab.connect(options, proxy.port), NO_BECOME, session_script(body))


def alias(lab: Lab) -> str:
    kind, blob = lab.server.known_hosts_line().split()[1:]
    lab.known_hosts.write_text(f"proxied {kind} {blob}\n")
    return "proxied"


@pytest.mark.parametrize("kind", SSH_KINDS)
@pytest.mark.parametrize("fault", ["cut", "reset"])
def test_a_connection_that_ends_in_the_middle(
    kind: TransportKind, fault: str, lab: Lab, proxy: TcpProxy
) -> None:
    session = through(lab, proxy, kind)
    with pytest.raises(ConnectionLost) as raised:
        session.call("switch", on_step=lambda _: getattr(proxy, fault)(), timeout=30)
    assert not raised.value.nothing_happened
    assert "«switch»" in raised.value.message
    # The next call on it can't begin, and says so.
    with pytest.raises(ConnectionLost) as again:
        session.call("switch", timeout=30)
    assert again.value.nothing_happened
    session.close()
    assert proxy.accepted == 1  # nobody connected anew behind our back


@pytest.mark.parametrize("kind", SSH_KINDS)
def test_a_black_hole_is_noticed_by_its_silence(
    kind: TransportKind, lab: Lab, proxy: TcpProxy
) -> None:
    session = through(lab, proxy, kind)
    with pytest.raises(ConnectionLost) as raised:
        session.call("switch", on_step=lambda _: proxy.black_hole(), timeout=30, idle_timeout=1)
    assert "nothing was heard" in raised.value.message
    assert not raised.value.nothing_happened
    session.close()


def test_a_black_hole_while_a_payload_is_on_its_way(lab: Lab, proxy: TcpProxy) -> None:
    body = 'emit_step open; frame_to "$DIR/copy"; emit_end 0'
    session = through(lab, proxy, TransportKind.PARAMIKO, body)
    with pytest.raises(ConnectionLost):
        session.call(
            "stage",
            {"dir": str(lab.directory)},
            [bytes_payload(b"x" * (32 << 20))],
            on_step=lambda _: proxy.black_hole(),
            timeout=30,
            idle_timeout=1,
        )
    session.close()


def test_a_payload_that_is_cut_off_is_not_kept(lab: Lab, proxy: TcpProxy) -> None:
    body = (
        'emit_step open; if frame_to "$DIR/copy"; then end=whole; else end=short; fi\n'
        'touch "$DIR/$end"'
    )
    session = through(lab, proxy, TransportKind.PARAMIKO, body)
    with pytest.raises(ConnectionLost):
        session.call(
            "stage",
            {"dir": str(lab.directory)},
            [bytes_payload(b"x" * (32 << 20))],
            on_step=lambda _: proxy.reset(),
            timeout=30,
        )
    session.close()
    wait_for(lab.directory / "short")
    assert not (lab.directory / "copy").exists()
    assert not (lab.directory / "whole").exists()


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.02)


NOISE = {
    "motd": "echo Welcome; echo '@0123 fact version v6.6.6'; printf 'no line end'",
    "binary": "head -c 300000 /dev/urandom; echo; echo on stderr >&2",
    "megabytes": "head -c 5000000 /dev/zero | tr '\\0' n; yes | head -c 1000000",
}


def noisy(tmp_path: Path, server: Sshd, noise: str) -> Sshd:
    """A login shell whose start-up file talks, and a banner before that."""
    shell = tmp_path / "shell"
    shell.write_text(f'#!/bin/sh\n{noise}\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n')
    shell.chmod(0o755)
    banner = tmp_path / "banner"
    banner.write_text("AUTHORIZED USE ONLY\n" * 20)
    lines = [f"ForceCommand {shell}", f"Banner {banner}"]
    return Sshd(tmp_path / "noisy", client_key=server.client_key, lines=lines)


@pytest.mark.parametrize("kind", SSH_KINDS)
@pytest.mark.parametrize("noise", NOISE)
def test_noise_does_no_harm(kind: TransportKind, noise: str, tmp_path: Path, server: Sshd) -> None:
    with noisy(tmp_path, server, NOISE[noise]) as talker:
        lab = Lab(tmp_path, talker)
        body = 'frame_to "$DIR/copy"; emit_fact version v1.34.2; emit_end 0'
        session = lab.session(body, lab.options(kind))
        args = {"dir": str(tmp_path)}
        reply = session.call("stage", args, [bytes_payload(b"\0\n")], timeout=30)
        session.close()
    assert reply.facts == (("version", "v1.34.2"),)
    assert (tmp_path / "copy").read_bytes() == b"\0\n"


@pytest.mark.parametrize(
    "noise, error",
    [("yes", OutputTooLarge), ("echo This account is closed.; exit 1", NodeSpokeGarbage)],
)
def test_a_shell_that_never_gets_to_the_point(
    noise: str, error: type[NodeError], tmp_path: Path, server: Sshd
) -> None:
    with noisy(tmp_path, server, noise) as talker:
        lab = Lab(tmp_path, talker)
        session = lab.session("emit_end 0")
        with pytest.raises(error) as raised:
            session.call("switch", timeout=30)
        session.close()
    assert raised.value.nothing_happened
    assert "log in by hand" in raised.value.hint


def test_sessions_are_limited_and_it_is_told(tmp_path: Path, server: Sshd) -> None:
    directory = tmp_path / "limited"
    with Sshd(directory, client_key=server.client_key, lines=["MaxSessions 0"]) as limited:
        lab = Lab(tmp_path, limited)
        options: ConnectOptions = lab.options()
        with pytest.raises(NodeError) as raised:
            lab.session("emit_end 0", options).call("x", timeout=20)
    assert raised.value.nothing_happened
