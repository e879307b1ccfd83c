"""A roll-out over OpenSSH's sshd: as root, by sudo, and by sudo with a password."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.model.rollout import FailureReason
from kschedpatch.node.agent import Agent
from kschedpatch.node.become import NO_BECOME, Become, Elevation, Secret
from kschedpatch.node.connect import connect
from kschedpatch.node.connectoptions import ConnectOptions
from kschedpatch.node.script import agent_script
from kschedpatch.node.session import Session
from kschedpatch.sandbox.sandbox import Sandbox
from tests.integration.rollout.rig import (
    CONFIG,
    FULL,
    SETTINGS,
    SPEED,
    Rig,
    assert_clean,
    patch,
    tree_of,
)
from tests.integration.sshd import Sshd, make_key, needs_sshd
from tests.integration.tcpproxy import TcpProxy

pytestmark = needs_sshd

PASSWORD = "correct-horse-7f3a"  # noqa: S105 (of a simulated sudo)
Opener = Callable[[Become], Callable[[NodeAddress], Agent]]


class SshLab:
    """A sandbox whose nodes are reached by sshd, through proxies that can be cut."""

    def __init__(self, directory: Path, nodes: int, stack: ExitStack) -> None:
        self.sandbox = stack.enter_context(Sandbox(directory / "nodes", nodes=nodes, speed=SPEED))
        self.key = make_key(directory / "client")
        self.known_hosts = directory / "known_hosts"
        self.config = directory / "ssh_config"
        self.config.write_text("IdentityFile none\nIdentityAgent none\n")
        self.proxies: dict[str, TcpProxy] = {}
        lines = ""
        for node in self.sandbox.nodes:
            server = Sshd(
                directory / f"sshd-{node.name}",
                client_key=self.key,
                environment=node.environment(),
            )
            stack.enter_context(server)
            proxy = stack.enter_context(TcpProxy((server.address, server.port)))
            self.proxies[node.name] = proxy
            host_key = server.known_hosts_line().split(maxsplit=1)[1]
            lines += f"[127.0.0.1]:{proxy.port} {host_key}"
            self.user = server.user
        self.known_hosts.write_text(lines)

    def rig(self, become: Become = NO_BECOME) -> Rig:
        options = ConnectOptions(
            identity=self.key,
            known_hosts=self.known_hosts,
            ssh_config=self.config,
            connect_timeout=10,
        )

        def opened(address: NodeAddress) -> Agent:
            port = self.proxies[address.host].port
            way = NodeAddress("127.0.0.1", port, self.user, address.host)
            return Agent(Session(connect(way, options), become, agent_script()))

        return Rig(self.sandbox, opened)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshLab]:
    with ExitStack() as stack:
        yield SshLab(tmp_path_factory.mktemp("ssh"), 2, stack)


def test_two_nodes_forward_and_back(lab: SshLab) -> None:
    rig = lab.rig()
    before = rig.manifests()
    result = rig.apply(patch(3, rest=CONFIG), SETTINGS._replace(preflight=True, probe=True))
    assert result.exit_code == exitcodes.OK, result
    assert rig.manifests() != before
    assert_clean(rig)
    assert rig.rollback().exit_code == exitcodes.OK
    assert rig.manifests() == before
    assert_clean(rig)


def test_by_sudo_with_a_password_that_stays_nowhere(lab: SshLab) -> None:
    rig = lab.rig(Become(Elevation.ALWAYS, Secret(PASSWORD)))
    for node, mode in zip(rig.nodes, ("asks", "free"), strict=True):
        node.sudo(mode, PASSWORD if mode == "asks" else "", lecture="We trust you.")
    try:
        result = rig.apply(patch(4, rest=CONFIG))
        assert result.exit_code == exitcodes.OK, result
        assert_clean(rig)
        for node in rig.nodes:
            for path in tree_of(node.root):
                file = node.root / path
                assert not file.is_file() or PASSWORD.encode() not in file.read_bytes(), path
            assert PASSWORD not in node.journal.text()
    finally:
        for node in rig.nodes:
            node.sudo()


@pytest.mark.sample
def test_a_cut_connection_during_the_switch_is_taken_back(lab: SshLab) -> None:
    rig = lab.rig()
    before = rig.manifests()
    cut: list[str] = []

    def listener(event: object) -> None:
        text = getattr(event, "text", "")
        if text == "the old pod ends" and not cut:
            cut.append(getattr(event, "node", ""))
            lab.proxies[cut[0]].reset()

    result = rig.apply(patch(9), listener=listener)
    assert cut
    assert result.exit_code == exitcodes.ROLLED_BACK, result
    assert result.failure is not None
    assert result.failure.reason is FailureReason.LOST
    assert rig.manifests() == before
    assert_clean(rig)


@pytest.mark.skipif(not FULL, reason="test_commands has most of it, without SSH: make faults")
def test_the_commands_themselves(lab: SshLab, tmp_path: Path) -> None:
    file = tmp_path / "patch.yaml"
    file.write_bytes(patch(6, rest=CONFIG))
    nodes = [f"{lab.user}@127.0.0.1:{proxy.port}" for proxy in lab.proxies.values()]
    ssh = [
        *("--identity", str(lab.key), "--known-hosts", str(lab.known_hosts)),
        *("--ssh-config", str(lab.config)),
    ]
    quick = ["--yes", "--settle", "1", "--confirm-timeout", "900"]

    def run(*words: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "kschedpatch", *words, *nodes, *ssh],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr

    rig = lab.rig()
    before = rig.manifests()
    assert run("plan", "-f", str(file), "--exit-code")[0] == exitcodes.DIFFERENCES
    code, said = run("apply", "-f", str(file), *quick)
    assert code == exitcodes.OK, said
    standing = rig.manifests()
    assert standing != before
    code, said = run("verify")
    assert code == exitcodes.OK, said
    code, said = run("rollback", *quick)
    assert code == exitcodes.OK, said
    assert rig.manifests() == before
    assert_clean(rig)
