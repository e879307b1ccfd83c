"""Who may log in to the machines, and what an operator's ssh has to know.

Keys are made before the machines boot, so their host keys are known and
nothing is trusted on first use.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .console import run
from .settings import GATE_ADDRESS, GATE_INNER_ADDRESS, NODE_NAMES, addresses

SUDO_USER = "ops"
"""sudo without a password."""
PASSWORD_USER = "admin"  # noqa: S105  (a name)
"""sudo that asks for SUDO_PASSWORD."""
SUDO_PASSWORD = "open sesame 42"  # noqa: S105  (a test machine's, reachable from this one only)
BASTION = "bastion"


@dataclass(frozen=True)
class Access:
    """Files on this machine for whoever connects to the rig's machines."""

    directory: Path

    @property
    def identity(self) -> Path:
        return self.directory / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        return self.directory / "known_hosts"

    @property
    def ssh_config(self) -> Path:
        """Host entries cp1…, `bastion`, and cp1-inner… that jump through it."""
        return self.directory / "ssh_config"

    def host_key(self, machine: str) -> Path:
        return self.directory / f"host_{machine}"

    def create(self) -> None:
        self.directory.mkdir(mode=0o700, parents=True)
        _make_key(self.identity, "operator")
        for machine in (*NODE_NAMES, BASTION):
            _make_key(self.host_key(machine), machine)
        known, config = [], []
        config += self._entry(BASTION, GATE_ADDRESS, [])
        known.append(self._known(BASTION, [BASTION, GATE_ADDRESS, GATE_INNER_ADDRESS]))
        for node in NODE_NAMES:
            place = addresses(node)
            known.append(self._known(node, [node, f"{node}-inner", place.address, place.inner]))
            config += self._entry(node, place.address, [])
            config += self._entry(f"{node}-inner", place.inner, [f"ProxyJump {BASTION}"])
        self.known_hosts.write_text("\n".join(known) + "\n")
        self.ssh_config.write_text("\n".join(config) + "\n")

    def machine_files(self, machine: str) -> dict[str, tuple[bytes, int]]:
        """Content and mode by path, for the tree of one machine."""
        key = self.host_key(machine)
        return {
            "etc/ssh/ssh_host_ed25519_key": (key.read_bytes(), 0o600),
            "etc/ssh/ssh_host_ed25519_key.pub": (_public(key), 0o644),
        }

    def authorize(self, tree: Path) -> None:
        for home in ("root", f"home/{SUDO_USER}", f"home/{PASSWORD_USER}"):
            owner = (tree / home).stat()
            directory = tree / home / ".ssh"
            directory.mkdir(mode=0o700, exist_ok=True)
            keys = directory / "authorized_keys"
            keys.write_bytes(_public(self.identity))
            for path in (directory, keys):
                os.chown(path, owner.st_uid, owner.st_gid)
            keys.chmod(0o600)

    def _entry(self, alias: str, address: str, more: list[str]) -> list[str]:
        lines = [
            f"HostName {address}",
            "User root",
            f"IdentityFile {self.identity}",
            "IdentitiesOnly yes",
            f"UserKnownHostsFile {self.known_hosts}",
            "GlobalKnownHostsFile none",
            "StrictHostKeyChecking yes",
            *more,
        ]
        return [f"Host {alias}", *(f"    {line}" for line in lines)]

    def _known(self, machine: str, names: list[str]) -> str:
        kind, key, *_ = _public(self.host_key(machine)).decode().split()
        return f"{','.join(names)} {kind} {key}"


def _make_key(path: Path, comment: str) -> None:
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)])


def _public(path: Path) -> bytes:
    return path.with_name(path.name + ".pub").read_bytes()
