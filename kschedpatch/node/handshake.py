"""From a socket to an SSH connection that is who it should be, and that lets us in."""

from __future__ import annotations

import logging
import re
from contextlib import closing
from pathlib import Path
from typing import Any

from kschedpatch.model.printable import printable
from kschedpatch.node.connectoptions import ConnectOptions
from kschedpatch.node.dialing import timeout_of
from kschedpatch.node.errors import AuthenticationFailed, Unreachable
from kschedpatch.node.hostkeys import HostKey, HostKeys
from kschedpatch.node.keyring import KeyRing, candidates
from kschedpatch.node.sshconfig import Destination
from kschedpatch.node.sshlibrary import paramiko

# paramiko still offers these; a server that knows nothing better is left to the system's ssh.
_WEAK = re.compile(
    r"3des|-cbc$|arcfour|blowfish|hmac-md5|hmac-sha1|^ssh-rsa|^ssh-dss|group1-sha1|group14-sha1"
    r"|group-exchange-sha1"
)
_KEEPALIVE = 10

# Without a handler of its own what paramiko logs would end up on the terminal, tracebacks included.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


def handshake(
    sock: Any, destination: Destination, options: ConnectOptions, label: str
) -> paramiko.Transport:
    """``sock``: a socket, or what paramiko takes for one (a channel through a bastion)."""
    timeout = timeout_of(destination, options)
    try:
        client = paramiko.Transport(sock)
    except (paramiko.SSHException, EOFError, OSError) as error:
        sock.close()
        raise _no_ssh(label, error) from None
    client.daemon = True
    client.banner_timeout = timeout
    client.handshake_timeout = timeout
    client.auth_timeout = max(timeout, 30.0)  # a directory service may be asked
    host_keys = HostKeys(
        destination,
        label,
        only=options.known_hosts,
        accept_new=options.accept_new,
        on_enrolled=options.on_note,
    )
    try:
        strong_algorithms(client, host_keys.known_kinds())
        try:
            client.start_client(timeout=timeout)
            key = client.get_remote_server_key()
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise _no_ssh(label, error) from None
        host_keys.check(HostKey(key.get_name(), key.asbytes()))
        _authenticate(client, destination, options, label)
        client.set_keepalive(_KEEPALIVE)
    except BaseException:
        client.close()
        raise
    return client


def strong_algorithms(client: paramiko.Transport, known_kinds: tuple[str, ...]) -> None:
    """Takes the weak ones from the offer, and puts the host's known types of keys first."""
    offer = client.get_security_options()
    # One pass instead of two (cipher and hash): a third faster for images and binaries.
    offer.ciphers = tuple(sorted(_strong(offer.ciphers), key=lambda name: "-gcm" not in name))
    offer.digests = _strong(offer.digests)
    offer.kex = _strong(offer.kex)
    kinds = _strong(offer.key_types)
    known = {
        algorithm
        for kind in known_kinds
        for algorithm in (("rsa-sha2-512", "rsa-sha2-256") if kind == "ssh-rsa" else (kind,))
    }
    offer.key_types = tuple(sorted(kinds, key=lambda kind: kind not in known))


def _strong(names: Any) -> tuple[str, ...]:
    return tuple(name for name in names if not _WEAK.search(name))


def _no_ssh(label: str, error: BaseException) -> Unreachable:
    if isinstance(error, paramiko.ssh_exception.IncompatiblePeer):
        return Unreachable(
            f"{label}: no common algorithm with the SSH server: {printable(str(error))}",
            "weak algorithms are off; if the server has no better ones: --transport openssh",
        )
    why = printable(str(error)) or "it hung up"
    return Unreachable(f"{label}: no SSH server answers there: {why}", "check host and port")


def _authenticate(
    client: paramiko.Transport, destination: Destination, options: ConnectOptions, label: str
) -> None:
    ring = options.keys if options.keys is not None else KeyRing()
    with closing(_agent(destination.uses_agent)) as agent:
        tried: list[str] = []
        for candidate in candidates(
            ring,
            agent,
            options.identity,
            destination.identity_files,
            identities_only=destination.identities_only,
        ):
            tried.append(candidate.name)
            try:
                missing = client.auth_publickey(destination.user, candidate.key)
            except paramiko.BadAuthenticationType as error:
                raise _refused(label, destination, tried, _only(error.allowed_types)) from None
            except paramiko.AuthenticationException:
                if not client.is_active():
                    raise _refused(label, destination, tried, "then it hung up") from None
                continue
            except (paramiko.SSHException, EOFError, OSError) as error:
                why = printable(str(error)) or "it hung up"
                raise _refused(label, destination, tried, why) from None
            if missing:
                raise _refused(label, destination, tried, _only(missing))
            return
    locked = [path for path in _files(options, destination) if ring.still_locked(path)]
    raise _refused(label, destination, tried, "", locked)


def _agent(wanted: bool) -> paramiko.Agent:
    if not wanted:
        return _NoAgent()
    try:
        return paramiko.Agent()
    except (paramiko.SSHException, OSError):
        return _NoAgent()


class _NoAgent(paramiko.Agent):
    def __init__(self) -> None:
        self._conn = None
        self._keys = ()


def _files(options: ConnectOptions, destination: Destination) -> tuple[Path, ...]:
    return (*((options.identity,) if options.identity else ()), *destination.identity_files)


def _only(kinds: list[str]) -> str:
    return f"it wants {' or '.join(kinds)} as well"


def _refused(
    label: str,
    destination: Destination,
    tried: list[str],
    why: str,
    locked: list[Path] | None = None,
) -> AuthenticationFailed:
    offered = ", ".join(tried) if tried else "no key: there was none to offer"
    message = f"{label}: the SSH server does not let {destination.user} in (offered: {offered})"
    hint = "name the right key with --identity, or the right user as user@host"
    if why:
        message += f"; {why}"
        hint += "; for passwords and second factors: --transport openssh"
    if locked:
        hint = f"{locked[0]} is encrypted: ssh-add it, or name it with --identity"
    return AuthenticationFailed(message, hint)
