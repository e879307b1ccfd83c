"""OpenSSH's sshd on this machine, with its own configuration, keys and log, for tests."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")

needs_sshd = pytest.mark.skipif(SSHD is None, reason="no sshd is installed (openssh-server)")


def make_key(path: Path, kind: str = "ed25519", pass_phrase: str = "") -> Path:
    command = ["ssh-keygen", "-q", "-t", kind, "-N", pass_phrase, "-C", "test", "-f", str(path)]
    if kind == "rsa":
        command += ["-b", "2048"]  # quick to make
    subprocess.run(command, check=True)
    return path


def free_port(address: str = "127.0.0.1") -> int:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


class Sshd:
    """One server. ``client_key`` may log in as the user who runs the tests.

    ``lines`` are added to sshd_config; ``environment`` is what its sessions see (SetEnv).
    """

    def __init__(
        self,
        directory: Path,
        *,
        client_key: Path | None = None,
        lines: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        address: str = "127.0.0.1",
        host_key_kinds: Sequence[str] = ("ed25519",),
    ) -> None:
        self.directory = directory
        self.address = address
        self.port = free_port(address)
        self.user = getpass.getuser()
        self.lines = list(lines)
        # bash reads the user's .bashrc for ssh, but only at the first level: tests do without it.
        self.environment = {"SHLVL": "1", **(environment or {})}
        directory.mkdir(parents=True, exist_ok=True)
        self.host_keys = [make_key(directory / f"host_{kind}", kind) for kind in host_key_kinds]
        self.client_key = client_key or make_key(directory / "client")
        self.authorized_keys = directory / "authorized_keys"
        self.authorized_keys.write_text(self.client_key.with_suffix(".pub").read_text())
        self.log = directory / "sshd.log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def host_key(self) -> Path:
        return self.host_keys[0]

    @property
    def name_in_known_hosts(self) -> str:
        return f"[{self.address}]:{self.port}"

    def known_hosts_line(self, host_key: Path | None = None) -> str:
        kind, blob, *_ = (host_key or self.host_key).with_suffix(".pub").read_text().split()
        return f"{self.name_in_known_hosts} {kind} {blob}\n"

    def fingerprint(self) -> str:
        command = ["ssh-keygen", "-lf", str(self.host_key.with_suffix(".pub"))]
        return subprocess.run(command, check=True, capture_output=True).stdout.decode().split()[1]

    def configuration(self) -> str:
        lines = [
            *self.lines,  # the first setting counts
            f"ListenAddress {self.name_in_known_hosts}",
            *(f"HostKey {key}" for key in self.host_keys),
            f"AuthorizedKeysFile {self.authorized_keys}",
            *("PidFile none", "UsePAM no", "StrictModes no", "PermitRootLogin yes"),
            *("PasswordAuthentication no", "KbdInteractiveAuthentication no", "UseDNS no"),
            *("LogLevel VERBOSE", "PrintMotd no", "MaxStartups 100"),
        ]
        pairs = " ".join(f'"{key}={value}"' for key, value in self.environment.items())
        lines.append(f"SetEnv {pairs}")
        return "\n".join(lines) + "\n"

    def start(self) -> Sshd:
        assert SSHD is not None
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # it insists
        config = self.directory / "sshd_config"
        config.write_text(self.configuration())
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + 10
        while "Server listening on" not in self.log.read_text("utf-8", "replace"):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"sshd did not start: {self.log.read_text()}")
            time.sleep(0.01)
        return self

    def stop(self) -> None:
        """Ends the server; sessions that are open stay."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(10)
            self.process = None

    def __enter__(self) -> Sshd:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def connections(self) -> int:
        """How many were made so far."""
        return self.log.read_text("utf-8", "replace").count("Connection from ")
