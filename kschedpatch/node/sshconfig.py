"""Where a host is and how to get there, as OpenSSH resolves it.

`ssh -G` is asked where there is an ssh: only it knows Include and Match as they are meant.
paramiko's own reader skips them, and a ProxyJump may vanish silently; its answers carry a note that
says so.
"""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.model.printable import printable_lines
from kschedpatch.node.errors import Unreachable

_DEFAULT_KEYS = ("~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa")
_USER_KNOWN = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
_GLOBAL_KNOWN = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")

NO_INCLUDE = (
    "there is no ssh on this machine: Include and Match in the SSH configuration are not seen"
)


class Destination(NamedTuple):
    host: str
    port: int
    user: str
    identity_files: tuple[Path, ...]
    identities_only: bool
    uses_agent: bool
    jumps: tuple[str, ...]
    """From the first to the last, each `[user@]host[:port]`."""
    proxy_command: str | None
    user_known_hosts: tuple[Path, ...]
    global_known_hosts: tuple[Path, ...]
    host_key_alias: str | None
    connect_timeout: float | None
    note: str = ""
    """What the operator should know about how this was found."""

    @property
    def is_straight(self) -> bool:
        """By TCP, without anything in between."""
        return not self.jumps and not self.proxy_command


def resolve(
    address: NodeAddress, config: Path | None = None, default_user: str | None = None
) -> Destination:
    ssh = shutil.which("ssh")
    if ssh is None:
        return _by_paramiko(address, config, default_user)
    return _by_ssh(ssh, address, config, default_user)


def _by_ssh(
    ssh: str, address: NodeAddress, config: Path | None, default_user: str | None
) -> Destination:
    arguments = [ssh, "-G"]
    if config is not None:
        arguments += ["-F", str(config)]
    if address.user is not None:
        arguments += ["-l", address.user]
    if address.port is not None:
        arguments += ["-p", str(address.port)]
    try:
        done = subprocess.run(  # noqa: S603  a list; the host name can't start with a dash
            [*arguments, "--", address.host],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,  # Match exec may ask a network
            check=False,
        )
    except subprocess.TimeoutExpired:
        hint = f"try it by hand: ssh -G {address.host}"
        raise Unreachable(f"{address.label}: ssh -G does not answer", hint) from None
    if done.returncode:
        said = printable_lines(done.stderr)
        message = f"{address.label}: ssh can't read its configuration: {said}"
        raise Unreachable(message, f"try it by hand: ssh -G {address.host}")
    return parse_ssh_output(done.stdout.decode("utf-8", "replace"), address, default_user)


def parse_ssh_output(text: str, address: NodeAddress, default_user: str | None) -> Destination:
    settings: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        settings.setdefault(key.lower(), []).append(value.strip())
    user = address.user or _first(settings, "user") or getpass.getuser()
    # ssh names the local user where nobody says anything; a default of ours comes before that.
    if address.user is None and default_user is not None and user == getpass.getuser():
        user = default_user
    return _destination(address, settings, user, "")


def _by_paramiko(
    address: NodeAddress, config: Path | None, default_user: str | None
) -> Destination:
    from kschedpatch.node.sshlibrary import paramiko  # noqa: PLC0415  heavy, and rarely needed

    path = config or Path("~/.ssh/config").expanduser()
    # The first value counts, and paramiko fills in %p and %r by itself: say first what is known.
    known = f"Port {address.port}\n" if address.port is not None else ""
    known += f"User {address.user}\n" if address.user is not None else ""
    try:
        text = path.read_text("utf-8") if path.exists() or config is not None else ""
        found = paramiko.SSHConfig.from_text(known + text).lookup(address.host)
    except (OSError, paramiko.ConfigParseError, UnicodeDecodeError) as error:
        hint = "correct it, or name another one with --ssh-config"
        raise Unreachable(f"{address.label}: {path} can't be read: {error}", hint) from None
    settings = {
        key: [value] if isinstance(value, str) else list(value) for key, value in found.items()
    }
    user = address.user or _first(settings, "user") or default_user or getpass.getuser()
    return _destination(address, settings, user, NO_INCLUDE)


def _destination(
    address: NodeAddress, settings: Mapping[str, Sequence[str]], user: str, note: str
) -> Destination:
    host = _first(settings, "hostname") or address.host
    port = address.port or int(_first(settings, "port") or 22)
    tokens = {"%": "%", "h": host, "p": str(port), "r": user, "n": address.host}
    jump = _first(settings, "proxyjump")
    command = _first(settings, "proxycommand")
    timeout = _first(settings, "connecttimeout")
    return Destination(
        host=host,
        port=port,
        user=user,
        identity_files=_paths(settings.get("identityfile") or _DEFAULT_KEYS, tokens),
        identities_only=_first(settings, "identitiesonly") == "yes",
        uses_agent=_first(settings, "identityagent") != "none",
        jumps=tuple(part.strip() for part in jump.split(",")) if jump else (),
        proxy_command=_expanded(command, tokens) if command else None,
        user_known_hosts=_paths(_listed(settings, "userknownhostsfile", _USER_KNOWN), tokens),
        global_known_hosts=_paths(_listed(settings, "globalknownhostsfile", _GLOBAL_KNOWN), tokens),
        host_key_alias=_first(settings, "hostkeyalias"),
        connect_timeout=float(timeout) if timeout and timeout.isdigit() else None,
        note=note,
    )


def _first(settings: Mapping[str, Sequence[str]], key: str) -> str | None:
    value = next(iter(settings.get(key, ())), None)
    return value if value and (value != "none" or key == "identityagent") else None


def _listed(
    settings: Mapping[str, Sequence[str]], key: str, default: Sequence[str]
) -> Sequence[str]:
    values = settings.get(key)
    return [word for value in values for word in value.split()] if values else default


def _paths(names: Sequence[str], tokens: Mapping[str, str]) -> tuple[Path, ...]:
    home = os.path.expanduser("~")  # noqa: PTH111  as ssh has it: a string in a pattern
    local = {**tokens, "d": home, "u": getpass.getuser()}
    found = (Path(_expanded(name, local)).expanduser() for name in names if name != "none")
    return tuple(dict.fromkeys(path for path in found if str(path) != "/dev/null"))


def _expanded(text: str, tokens: Mapping[str, str]) -> str:
    parts = iter(text)
    out = []
    for character in parts:
        if character != "%":
            out.append(character)
            continue
        token = next(parts, "")
        out.append(tokens.get(token, "%" + token))
    return "".join(out)
