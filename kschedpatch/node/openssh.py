"""The system's ssh as the way to a node: hardware keys, GSSAPI, host certificates, wrappers.

One master connection is opened first, so that what can go wrong goes wrong then, and every command
is a session of it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.model.printable import printable_lines
from kschedpatch.node.connectoptions import CONNECT_TIMEOUT, ConnectOptions
from kschedpatch.node.errors import (
    AuthenticationFailed,
    HostKeyChanged,
    HostKeyUnknown,
    NodeError,
    Unreachable,
)
from kschedpatch.node.process import ProcessChannel

#: ssh's own exit code for «the connection failed»; a command that ends so is told by its records.
_SSH_FAILED = 255
_LONGEST_PLACE = 70
#: Seconds that the master outlives its last command: longer than an operator thinks about a plan,
#: and not for ever if this program is killed.
_PERSIST = 1800


class OpensshTransport:
    def __init__(self, label: str, ssh: list[str], host: str, directory: Path) -> None:
        self.label = label
        self._ssh = ssh
        self._host = host
        # Also for a transport that nobody closed, at the latest when the program ends.
        self._end = weakref.finalize(self, _end_master, ssh, host, directory)

    def open(self, command: str) -> ProcessChannel:
        arguments = [
            *self._ssh,
            *("-o", "ControlMaster=no", "-o", "BatchMode=yes"),
            # If the master is gone this must fail, not go and make a connection of its own.
            *("-o", "ProxyJump=none", "-o", "ProxyCommand=exit 255"),
            *("--", self._host, command),
        ]
        return ProcessChannel(self.label, arguments, lost_code=_SSH_FAILED)

    def close(self) -> None:
        self._end()


def _end_master(ssh: list[str], host: str, directory: Path) -> None:
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(  # noqa: S603  arguments as a list, from this module
            [*ssh, "-O", "exit", "--", host],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
            check=False,
        )
    shutil.rmtree(directory, ignore_errors=True)


def _short_place() -> str:
    """The path of a socket has 104 bytes at most, and ssh appends to it while it connects."""
    usual = tempfile.gettempdir()
    return usual if len(os.fsencode(usual)) <= _LONGEST_PLACE else "/tmp"  # noqa: S108 (mkdtemp)


def open_openssh(address: NodeAddress, options: ConnectOptions) -> OpensshTransport:
    label = address.label or address.host
    program = shutil.which("ssh")
    if program is None:
        raise Unreachable(f"{label}: there is no ssh on this machine", "leave out --transport")
    directory = Path(tempfile.mkdtemp(prefix="ksp-", dir=_short_place()))  # 0700
    ssh = [program, *_settings(address, options, directory)]
    try:
        _start_master(ssh, address, options, label)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return OpensshTransport(label, ssh, address.host, directory)


def _settings(address: NodeAddress, options: ConnectOptions, directory: Path) -> list[str]:
    timeout = int(options.connect_timeout or CONNECT_TIMEOUT)
    settings = {
        "ControlPath": str(directory / "c"),
        "StrictHostKeyChecking": "accept-new" if options.accept_new else "yes",
        "ServerAliveInterval": "5",
        "ServerAliveCountMax": "3",
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        "RequestTTY": "no",
        "RemoteCommand": "none",
        # An enrolled host key is told at this level, and a closed connection, which is no news.
        "LogLevel": "INFO" if options.accept_new else "ERROR",
    }
    if options.connect_timeout is not None or options.ssh_config is None:
        settings["ConnectTimeout"] = str(timeout)
    if options.known_hosts is not None:
        settings["UserKnownHostsFile"] = f'"{options.known_hosts}"'
    arguments = ["-T"]
    if options.ssh_config is not None:
        arguments += ["-F", str(options.ssh_config)]
    if options.identity is not None:
        arguments += ["-i", str(options.identity)]
    if address.user is not None:
        arguments += ["-l", address.user]
    if address.port is not None:
        arguments += ["-p", str(address.port)]
    for name, value in settings.items():
        arguments += ["-o", f"{name}={value}"]
    return arguments


def _start_master(
    ssh: list[str], address: NodeAddress, options: ConnectOptions, label: str
) -> None:
    batch = "no" if options.prompts else "yes"
    master = ["-o", "ControlMaster=yes", "-o", f"ControlPersist={_PERSIST}"]
    master += ["-o", f"BatchMode={batch}"]
    with tempfile.TemporaryFile() as said:  # a pipe would stay open in the master
        done = subprocess.run(  # noqa: S603  arguments as a list; the host has no leading dash
            [*ssh, *master, "-N", "-f", "--", address.host],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=not options.prompts,
            check=False,
        )
        said.seek(0)
        text = said.read(64 * 1024)
    if done.returncode:
        raise explained(label, text, options)
    for line in printable_lines(text).splitlines():
        if "Permanently added" in line and options.on_note is not None:
            options.on_note(f"{label}: {line}")


# What ssh says, and what it means; the first that fits.
_CHANGED = r"REMOTE HOST IDENTIFICATION HAS CHANGED|revoked|host key .* has changed"
_UNKNOWN = r"Host key verification failed|No .* host key is known"
_DENIED = r"Permission denied|Too many authentication failures|No more authentication methods"


def explained(label: str, stderr: bytes, options: ConnectOptions) -> NodeError:
    text = printable_lines(stderr)
    shown = "; ".join(line for line in text.splitlines() if line.strip("@ ")) or "it says nothing"

    def says(pattern: str) -> bool:
        return re.search(pattern, text, re.IGNORECASE) is not None

    if says(_CHANGED):
        return HostKeyChanged(
            f"{label}: the host key is not the one that is known; ssh: {shown}",
            "somebody may be listening in; only if the machine was set up anew: take the line out",
        )
    if says(_UNKNOWN):
        return HostKeyUnknown(
            f"{label}: the host key is not known; ssh: {shown}",
            "compare its fingerprint (ssh-keyscan HOST | ssh-keygen -lf -) with what the node "
            "itself says; then connect once with ssh, or give --accept-new-host-keys",
        )
    if says(_DENIED):
        return AuthenticationFailed(
            f"{label}: the SSH server does not let you in; ssh: {shown}",
            "name the right key with --identity, or the right user as user@host",
        )
    hint = "try it by hand: ssh " + ("-F … " if options.ssh_config else "") + label
    return Unreachable(f"{label}: ssh can't connect: {shown}", hint)
