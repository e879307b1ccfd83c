"""Every way in that operators use."""

from __future__ import annotations

import socket

import pytest

from .cluster.access import PASSWORD_USER, SUDO_PASSWORD, SUDO_USER
from .cluster.cluster import Cluster
from .cluster.console import run


def test_root_logs_in_by_key_with_known_host_keys(cluster: Cluster) -> None:
    for node in cluster.nodes:
        result = node.ssh("id -un; hostname")
        assert result.stdout.decode().split() == ["root", node.name], result.stderr


def test_sudo_without_a_password(cluster: Cluster) -> None:
    assert cluster.node("cp1").ssh("sudo -n id -un", user=SUDO_USER).stdout == b"root\n"


def test_sudo_with_a_password(cluster: Cluster) -> None:
    assert cluster.node("cp1").ssh("sudo -n true", user=PASSWORD_USER).returncode != 0
    config = str(cluster.access.ssh_config)
    command = ["ssh", "-F", config, "-l", PASSWORD_USER, "cp1", "sudo -S -p '' id -un"]
    assert run(command, stdin=f"{SUDO_PASSWORD}\n".encode()).stdout == b"root\n"


def test_inner_addresses_are_reached_through_the_bastion_only(cluster: Cluster) -> None:
    with pytest.raises(OSError, match=r"unreachable|No route"):
        socket.create_connection((cluster.nodes[-1].inner, 22), timeout=3)
    config = str(cluster.access.ssh_config)
    name = cluster.nodes[-1].name
    assert run(["ssh", "-F", config, f"{name}-inner", "hostname"]).stdout.decode() == f"{name}\n"
