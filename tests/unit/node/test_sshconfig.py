"""A host as OpenSSH's configuration has it, with ssh and without."""

from __future__ import annotations

import getpass
import shutil
from pathlib import Path

import pytest

from kschedpatch.inputs.nodeaddresses import parse_address
from kschedpatch.node.errors import Unreachable
from kschedpatch.node.sshconfig import NO_INCLUDE, Destination, resolve

CONFIG = """\
Host cp*
  HostName %h.example.com
  Port 2200
  User core
  IdentityFile ~/keys/%r@%n
  IdentitiesOnly yes
  ProxyJump first,admin@second:2222
  UserKnownHostsFile ~/a ~/b
  HostKeyAlias the-alias
  ConnectTimeout 7
Host by-command
  ProxyCommand nc -X 5 %h %p
"""

needs_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh is installed")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config"
    path.write_text(CONFIG)
    return path


@pytest.fixture(params=[pytest.param("ssh", marks=needs_ssh), "paramiko"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "paramiko":
        monkeypatch.setattr("kschedpatch.node.sshconfig.shutil.which", lambda _: None)
    return str(request.param)


def found(text: str, config: Path, user: str | None = None) -> Destination:
    return resolve(parse_address(text), config, user)


def test_everything_is_found(reader: str, config: Path) -> None:
    there = found("cp1", config)
    assert (there.host, there.port, there.user) == ("cp1.example.com", 2200, "core")
    assert there.identities_only
    assert there.jumps == ("first", "admin@second:2222")
    assert there.connect_timeout == 7
    home = Path("~").expanduser()
    if reader == "ssh":
        assert there.user_known_hosts == (home / "a", home / "b")
        assert there.host_key_alias == "the-alias"
        assert there.identity_files == (home / "keys/core@cp1",)
        assert there.note == ""
    else:
        assert there.note == NO_INCLUDE


@pytest.mark.usefixtures("reader")
def test_what_the_address_says_comes_first(config: Path) -> None:
    there = found("root@cp1:22", config)
    assert (there.user, there.port) == ("root", 22)


@pytest.mark.usefixtures("reader")
def test_a_proxy_command_gets_host_and_port(config: Path) -> None:
    assert found("by-command:99", config).proxy_command == "nc -X 5 by-command 99"
    assert found("by-command", config).jumps == ()


@pytest.mark.usefixtures("reader")
def test_a_host_that_nobody_configured(config: Path) -> None:
    there = found("elsewhere", config)
    assert (there.host, there.port, there.user) == ("elsewhere", 22, getpass.getuser())
    assert there.identity_files
    assert there.user_known_hosts
    assert not there.jumps
    assert found("elsewhere", config, "operator").user == "operator"
    assert found("cp1", config, "operator").user == "core"


@needs_ssh
def test_include_and_match_are_seen(tmp_path: Path) -> None:
    (tmp_path / "included").write_text("Host cp1\n  ProxyJump bastion\n")
    config = tmp_path / "config"
    config.write_text(f"Include {tmp_path}/included\nMatch originalhost cp1 exec true\n  Port 7\n")
    assert found("cp1", config).jumps == ("bastion",)
    assert found("cp1", config).port == 7


@pytest.mark.usefixtures("reader")
def test_a_configuration_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as raised:
        found("cp1", tmp_path / "none")
    assert "cp1" in raised.value.message
