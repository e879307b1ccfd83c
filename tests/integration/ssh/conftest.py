"""One sshd for many tests, and a short way to a session on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedpatch.inputs.nodeaddresses import parse_address
from kschedpatch.node.become import NO_BECOME, Become
from kschedpatch.node.connect import connect
from kschedpatch.node.connectoptions import ConnectOptions, TransportKind
from kschedpatch.node.session import Session
from kschedpatch.node.transport import Transport
from tests.integration.sshd import SSHD, Sshd
from tests.nodescript import session_script


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if SSHD is None and here in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="no sshd is installed (openssh-server)"))


class Lab:
    """Files of one test: an empty SSH configuration, known_hosts, and what was said."""

    def __init__(self, directory: Path, server: Sshd) -> None:
        self.directory = directory
        self.server = server
        self.known_hosts = directory / "known_hosts"
        self.known_hosts.write_text(server.known_hosts_line())
        self.config = directory / "ssh_config"
        self.config.write_text("IdentityFile none\nIdentityAgent none\n")
        self.notes: list[str] = []

    def options(self, kind: TransportKind = TransportKind.PARAMIKO) -> ConnectOptions:
        return ConnectOptions(
            kind=kind,
            identity=self.server.client_key,
            known_hosts=self.known_hosts,
            ssh_config=self.config,
            connect_timeout=10,
            on_note=self.notes.append,
        )

    def address(self, port: int | None = None) -> str:
        return f"{self.server.user}@{self.server.address}:{port or self.server.port}"

    def connect(self, options: ConnectOptions | None = None, port: int | None = None) -> Transport:
        return connect(parse_address(self.address(port)), options or self.options())

    def session(
        self, body: str, options: ConnectOptions | None = None, become: Become = NO_BECOME
    ) -> Session:
        return Session(self.connect(options), become, session_script(body))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with Sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def lab(tmp_path: Path, server: Sshd) -> Lab:
    return Lab(tmp_path, server)
