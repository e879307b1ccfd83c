"""Ways to a host: addresses, keys, jumps, and the servers that nobody should talk to."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
import pytest

from kschedpatch.inputs.nodeaddresses import parse_address
from kschedpatch.node import dialing
from kschedpatch.node.bastions import Bastions
from kschedpatch.node.become import NO_BECOME, Secret
from kschedpatch.node.connect import connect
from kschedpatch.node.connectoptions import ConnectOptions, TransportKind
from kschedpatch.node.errors import AuthenticationFailed, Unreachable
from kschedpatch.node.handshake import strong_algorithms
from kschedpatch.node.keyring import KeyRing
from kschedpatch.node.session import Session
from tests.integration.ssh.conftest import Lab
from tests.integration.sshd import Sshd, free_port, make_key
from tests.nodescript import session_script

SSH_KINDS = [TransportKind.PARAMIKO, TransportKind.OPENSSH]
HELLO = session_script('emit_fact from "$SSH_CONNECTION"; emit_end 0')


@pytest.mark.parametrize("kind", SSH_KINDS)
def test_ipv6(kind: TransportKind, tmp_path: Path, server: Sshd) -> None:
    try:
        free_port("::1")
    except OSError:
        pytest.skip("no IPv6 on the loopback")
    with Sshd(tmp_path / "six", client_key=server.client_key, address="::1") as six:
        lab = Lab(tmp_path, six)
        address = parse_address(f"ssh://{six.user}@[::1]:{six.port}")
        session = Session(connect(address, lab.options(kind)), NO_BECOME, HELLO)
        assert session.call("hello", timeout=20).first("from").startswith("::1 ")
        session.close()


@pytest.mark.parametrize("kind", SSH_KINDS)
def test_nobody_listens(kind: TransportKind, lab: Lab) -> None:
    with pytest.raises(Unreachable) as raised:
        lab.connect(lab.options(kind), port=free_port())
    assert "refused" in raised.value.message


@pytest.mark.parametrize("kind", SSH_KINDS)
def test_a_server_that_says_nothing(kind: TransportKind, lab: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        options = lab.options(kind)._replace(connect_timeout=1)
        with pytest.raises(Unreachable):
            lab.connect(options, port=silent.getsockname()[1])


def test_a_name_that_nobody_knows(lab: Lab) -> None:
    with pytest.raises(Unreachable) as raised:
        connect(parse_address("no-such-host.invalid"), lab.options())
    assert "no-such-host.invalid" in raised.value.message


@pytest.mark.parametrize("kind", SSH_KINDS)
def test_a_key_that_is_not_allowed(kind: TransportKind, lab: Lab) -> None:
    stranger = make_key(lab.directory / "stranger")
    with pytest.raises(AuthenticationFailed) as raised:
        lab.connect(lab.options(kind)._replace(identity=stranger))
    assert "--identity" in raised.value.hint
    if kind is TransportKind.PARAMIKO:
        assert str(stranger) in raised.value.message


def test_no_key_at_all(lab: Lab) -> None:
    with pytest.raises(AuthenticationFailed) as raised:
        lab.connect(lab.options()._replace(identity=None))
    assert "none to offer" in raised.value.message


@pytest.fixture
def locked_key(lab: Lab) -> Iterator[Path]:
    key = make_key(lab.directory / "locked", pass_phrase="open sesame")  # noqa: S106  of a test
    allowed = lab.server.authorized_keys
    before = allowed.read_text()
    allowed.write_text(before + key.with_suffix(".pub").read_text())
    yield key
    allowed.write_text(before)


def test_an_encrypted_key_is_unlocked_once_for_all_nodes(lab: Lab, locked_key: Path) -> None:
    answers = [Secret("wrong"), Secret("open sesame")]
    asked: list[Path] = []

    def ask(path: Path) -> Secret:
        asked.append(path)
        return answers.pop(0)

    options = lab.options()._replace(identity=locked_key, keys=KeyRing(ask))
    lab.connect(options).close()
    lab.connect(options).close()
    assert asked == [locked_key, locked_key]


def test_an_encrypted_key_without_its_pass_phrase(lab: Lab, locked_key: Path) -> None:
    ring = KeyRing(lambda _: pytest.fail("asked after it was sealed"))
    ring.seal()
    with pytest.raises(AuthenticationFailed) as raised:
        lab.connect(lab.options()._replace(identity=locked_key, keys=ring))
    assert f"{locked_key} is encrypted" in raised.value.hint


@pytest.fixture
def agent(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    path = lab.directory / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    while not path.exists():
        assert process.poll() is None
    yield
    process.terminate()
    process.wait()


@pytest.mark.usefixtures("agent")
def test_the_agents_keys(lab: Lab) -> None:
    subprocess.run(["ssh-add", "-q", lab.server.client_key], check=True, capture_output=True)
    lab.config.write_text("IdentityFile none\n")
    lab.connect(lab.options()._replace(identity=None)).close()
    lab.config.write_text("IdentityFile none\nIdentitiesOnly yes\n")
    with pytest.raises(AuthenticationFailed) as raised:
        lab.connect(lab.options()._replace(identity=None))
    assert "none to offer" in raised.value.message
    # Configured by its public half alone: then the agent's key is one of the identities.
    public = lab.server.client_key.with_suffix(".pub")
    lab.config.write_text(f"IdentityFile {public}\nIdentitiesOnly yes\n")
    lab.connect(lab.options()._replace(identity=None)).close()


class Chain:
    """Two bastions and a target, each an sshd of its own, named in an SSH configuration."""

    def __init__(self, directory: Path, servers: list[Sshd]) -> None:
        self.first, self.second, self.target = servers
        self.config = directory / "ssh_config"
        self.known_hosts = directory / "known_hosts"
        self.known_hosts.write_text("".join(server.known_hosts_line() for server in servers))
        key = self.first.client_key
        included = directory / "included"
        hosts = zip(("first", "second", "cp1", "cp2"), (*servers, self.target), strict=True)
        included.write_text(
            "".join(
                f"Host {name}\n  HostName {server.address}\n  Port {server.port}\n"
                f"  User {server.user}\n"
                for name, server in hosts
            )
        )
        self.config.write_text(
            f"Include {included}\nMatch host cp*,127.0.0.1 exec true\n"
            f"Host cp*\n  ProxyJump first,second\n"
            f"Host *\n  IdentityFile {key}\n  IdentitiesOnly yes\n  IdentityAgent none\n"
            f"  UserKnownHostsFile {self.known_hosts}\n"
        )

    def options(self, kind: TransportKind) -> ConnectOptions:
        return ConnectOptions(
            kind=kind, ssh_config=self.config, connect_timeout=10, bastions=Bastions()
        )


@pytest.fixture
def chain(tmp_path: Path, server: Sshd) -> Iterator[Chain]:
    servers = [Sshd(tmp_path / f"hop{n}", client_key=server.client_key) for n in range(3)]
    for one in servers:
        one.start()
    yield Chain(tmp_path, servers)
    for one in servers:
        one.stop()


def test_two_hops_and_one_connection_to_each_bastion(chain: Chain) -> None:
    options = chain.options(TransportKind.PARAMIKO)
    sessions: list[Session] = []

    def open_one(name: str) -> None:
        sessions.append(Session(connect(parse_address(name), options), NO_BECOME, HELLO))

    threads = [threading.Thread(target=open_one, args=(name,)) for name in ("cp1", "cp2", "cp1")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(sessions) == 3
    assert all(session.call("hello", timeout=20).code == 0 for session in sessions)
    counts = [one.connections() for one in (chain.first, chain.second, chain.target)]
    assert counts == [1, 1, 3]
    for session in sessions:
        session.close()
    # Closed by the last one who used it, and opened anew by the next.
    open_one("cp1")
    assert chain.first.connections() == 2
    sessions[-1].close()


def test_openssh_jumps_as_well(chain: Chain) -> None:
    options = chain.options(TransportKind.OPENSSH)
    session = Session(connect(parse_address("cp1"), options), NO_BECOME, HELLO)
    assert session.call("hello", timeout=20).code == 0
    assert chain.second.connections() == 1
    session.close()


def test_a_dead_bastion_connection_is_opened_anew(chain: Chain) -> None:
    options = chain.options(TransportKind.PARAMIKO)
    old = connect(parse_address("cp1"), options)
    shared = options.bastions
    assert shared is not None
    for link in [entry.link for entry in shared._shared.values()]:
        assert link is not None
        link.client.close()
    new = Session(connect(parse_address("cp2"), options), NO_BECOME, HELLO)
    assert new.call("hello", timeout=20).code == 0
    old.close()
    assert new.call("hello", timeout=20).code == 0  # the old one's end does not touch it
    new.close()


def test_a_bastion_that_has_no_way_on(chain: Chain) -> None:
    chain.target.stop()
    with pytest.raises(Unreachable) as raised:
        connect(parse_address("cp1"), chain.options(TransportKind.PARAMIKO))
    assert "second" in raised.value.message


def test_jumps_in_a_circle_end(chain: Chain) -> None:
    circle = "Host cp1 b\n  ProxyJump a\nHost a\n  ProxyJump b\n"
    chain.config.write_text(circle)
    with pytest.raises(Unreachable) as raised:
        connect(parse_address("cp1"), chain.options(TransportKind.PARAMIKO))
    assert "circle" in raised.value.hint


def test_a_proxy_command(chain: Chain) -> None:
    busybox = "/bin/busybox" if Path("/bin/busybox").exists() else "busybox"
    text = chain.config.read_text().replace(
        "ProxyJump first,second", f"ProxyCommand {busybox} nc %h %p"
    )
    chain.config.write_text(text)
    options = chain.options(TransportKind.PARAMIKO)
    session = Session(connect(parse_address("cp1"), options), NO_BECOME, HELLO)
    assert session.call("hello", timeout=20).code == 0
    assert chain.first.connections() == 0
    session.close()


WEAK = (
    "Ciphers aes128-cbc,3des-cbc",
    "MACs hmac-sha1,hmac-md5",
    "KexAlgorithms diffie-hellman-group14-sha1",
)


@pytest.mark.parametrize("line", WEAK)
def test_a_server_with_only_weak_algorithms_is_refused(
    line: str, tmp_path: Path, server: Sshd
) -> None:
    with Sshd(tmp_path / "weak", client_key=server.client_key, lines=[line]) as weak:
        with pytest.raises(Unreachable) as raised:
            Lab(tmp_path, weak).connect()
        assert "--transport openssh" in raised.value.hint


def test_nothing_weak_is_offered() -> None:
    ours, theirs = socket.socketpair()
    client = paramiko.Transport(ours)
    strong_algorithms(client, ("ssh-rsa",))
    offer = client.get_security_options()
    names = [*offer.ciphers, *offer.digests, *offer.kex, *offer.key_types]
    for weak in ("3des", "cbc", "md5", "hmac-sha1", "ssh-rsa", "ssh-dss", "group1-", "14-sha1"):
        assert not [name for name in names if weak in name]
    assert list(offer.key_types)[:2] == ["rsa-sha2-512", "rsa-sha2-256"]
    assert [name for name in offer.ciphers if "-gcm" in name] == list(offer.ciphers)[:2]
    for options in (offer.ciphers, offer.digests, offer.kex):
        assert options
    ours.close()
    theirs.close()


def test_the_agent_is_never_forwarded(lab: Lab) -> None:
    lab.config.write_text(lab.config.read_text() + "ForwardAgent yes\n")
    for kind in SSH_KINDS:
        session = lab.session(
            'emit_fact sock "${SSH_AUTH_SOCK-none}"; emit_end 0', lab.options(kind)
        )
        assert session.call("look", timeout=20).first("sock") == "none"
        session.close()


def test_nodelay_is_set(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []
    real = dialing.dialed

    def remember(*args: Any) -> socket.socket:
        made.append(real(*args))
        return made[-1]

    monkeypatch.setattr(dialing, "dialed", remember)
    transport = lab.connect()
    assert made[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert made[0].getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    transport.close()


def test_environment_is_not_needed_to_name_the_user(lab: Lab) -> None:
    """Neither the address nor the configuration names one: the run's default counts."""
    address = parse_address(f"127.0.0.1:{lab.server.port}")
    with pytest.raises(AuthenticationFailed) as raised:
        connect(address, lab.options()._replace(user="nobody-else"))
    assert "nobody-else" in raised.value.message
    assert os.environ.get("USER") != "nobody-else"
