"""A host is who it should be, or nothing is sent to it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedpatch.node.connectoptions import TransportKind
from kschedpatch.node.errors import HostKeyChanged, HostKeyUnknown
from tests.integration.ssh.conftest import Lab
from tests.integration.sshd import Sshd, make_key

SSH_KINDS = [TransportKind.PARAMIKO, TransportKind.OPENSSH]


@pytest.mark.parametrize("kind", SSH_KINDS)
def test_an_unknown_key_is_refused(kind: TransportKind, lab: Lab) -> None:
    lab.known_hosts.write_text("")
    with pytest.raises(HostKeyUnknown) as raised:
        lab.connect(lab.options(kind))
    assert raised.value.nothing_happened
    assert "--accept-new-host-keys" in raised.value.hint
    assert "ssh-keyscan" in raised.value.hint
    assert lab.known_hosts.read_text() == ""
    if kind is TransportKind.PARAMIKO:
        assert lab.server.fingerprint() in raised.value.message


@pytest.mark.parametrize("kind", SSH_KINDS)
@pytest.mark.parametrize("accept_new", [False, True])
def test_a_changed_key_is_always_refused(kind: TransportKind, accept_new: bool, lab: Lab) -> None:
    other = make_key(lab.directory / "other")
    lab.known_hosts.write_text("# a comment\n" + lab.server.known_hosts_line(other))
    before = lab.known_hosts.read_text()
    with pytest.raises(HostKeyChanged) as raised:
        lab.connect(lab.options(kind)._replace(accept_new=accept_new))
    assert raised.value.nothing_happened
    assert lab.known_hosts.read_text() == before
    if kind is TransportKind.PARAMIKO:
        assert f"{lab.known_hosts}, line 2" in raised.value.message


@pytest.mark.parametrize("kind", SSH_KINDS)
def test_a_revoked_key_is_refused(kind: TransportKind, lab: Lab) -> None:
    line = lab.server.known_hosts_line()
    lab.known_hosts.write_text(line + "@revoked " + line)
    with pytest.raises(HostKeyChanged):
        lab.connect(lab.options(kind))


@pytest.mark.parametrize("kind", SSH_KINDS)
def test_a_new_key_is_enrolled_once_and_then_known(kind: TransportKind, lab: Lab) -> None:
    lab.known_hosts.unlink()
    options = lab.options(kind)._replace(accept_new=True)
    lab.connect(options).close()
    enrolled = lab.known_hosts.read_text()
    lab.connect(options).close()
    lab.connect(lab.options(kind)).close()  # strict again
    assert lab.known_hosts.read_text() == enrolled
    assert len(lab.notes) == 1  # it was said, and once
    assert lab.address() in lab.notes[0]
    if kind is TransportKind.PARAMIKO:
        assert enrolled == lab.server.known_hosts_line()
        assert lab.known_hosts.stat().st_mode & 0o777 == 0o600
        assert lab.server.fingerprint() in lab.notes[0]
        assert str(lab.known_hosts) in lab.notes[0]


def test_a_line_without_its_end_is_not_spoilt_by_enrolling(lab: Lab) -> None:
    lab.known_hosts.write_text("elsewhere ssh-ed25519 AAAA")
    lab.connect(lab.options()._replace(accept_new=True)).close()
    expected = "elsewhere ssh-ed25519 AAAA\n" + lab.server.known_hosts_line()
    assert lab.known_hosts.read_text() == expected


def test_hashed_names_are_known(lab: Lab) -> None:
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", lab.known_hosts], check=True)
    assert lab.known_hosts.read_text().startswith("|1|")
    lab.connect().close()


def test_an_alias_names_the_key(lab: Lab) -> None:
    kind, blob = lab.server.known_hosts_line().split()[1:]
    lab.known_hosts.write_text(f"node-one {kind} {blob}\n")
    with pytest.raises(HostKeyUnknown):
        lab.connect()
    lab.config.write_text(lab.config.read_text() + "HostKeyAlias node-one\n")
    lab.connect().close()


def test_only_an_authority_is_known(lab: Lab) -> None:
    lab.known_hosts.write_text("@cert-authority " + lab.server.known_hosts_line())
    with pytest.raises(HostKeyUnknown) as raised:
        lab.connect()
    assert "--transport openssh" in raised.value.hint


@pytest.fixture
def many_keys(tmp_path: Path, server: Sshd) -> Iterator[Sshd]:
    kinds = ("ed25519", "ecdsa", "rsa")
    directory = tmp_path / "many"
    with Sshd(directory, client_key=server.client_key, host_key_kinds=kinds) as running:
        yield running


def test_the_known_type_is_asked_for_first(many_keys: Sshd, tmp_path: Path) -> None:
    lab = Lab(tmp_path, many_keys)
    for key in many_keys.host_keys:
        lab.known_hosts.write_text(many_keys.known_hosts_line(key))
        session = lab.session("emit_end 0")
        assert session.call("x", timeout=20).code == 0, "by the one key that is known"
        session.close()


def test_a_host_that_lost_its_known_key_has_changed(lab: Lab) -> None:
    other = make_key(lab.directory / "other", "rsa")
    lab.known_hosts.write_text(lab.server.known_hosts_line(other))
    with pytest.raises(HostKeyChanged):
        lab.connect(lab.options()._replace(accept_new=True))
