"""The way to a host by paramiko: straight, through bastions, or by a command."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from kschedpatch.inputs.nodeaddresses import NoAddress, parse_address
from kschedpatch.node.bastions import Bastions, Link
from kschedpatch.node.connectoptions import ConnectOptions
from kschedpatch.node.dialing import dialed, timeout_of
from kschedpatch.node.errors import Unreachable
from kschedpatch.node.handshake import handshake
from kschedpatch.node.sshconfig import Destination, resolve
from kschedpatch.node.sshlibrary import paramiko

if TYPE_CHECKING:
    import socket

_MAX_HOPS = 8


class _Wire(NamedTuple):
    sock: Any
    release: Callable[[], None]


def connected(
    destination: Destination,
    options: ConnectOptions,
    bastions: Bastions,
    label: str,
    sock: socket.socket | None = None,
) -> Link:
    """``sock``: to the destination, where somebody has dialed it; closed with the link, or where
    that can't be made."""
    if sock is not None:
        return _over(_Wire(sock, lambda: None), destination, options, label)
    return _connected(destination, options, bastions, label, 0)


def _connected(
    destination: Destination, options: ConnectOptions, bastions: Bastions, label: str, depth: int
) -> Link:
    if depth > _MAX_HOPS:
        raise Unreachable(
            f"{label}: more than {_MAX_HOPS} jumps", "is ProxyJump going in a circle?"
        )
    wire = _wire(destination, options, bastions, label, depth)
    return _over(wire, destination, options, label)


def _over(wire: _Wire, destination: Destination, options: ConnectOptions, label: str) -> Link:
    try:
        client = handshake(wire.sock, destination, options, label)
    except BaseException:
        wire.release()
        raise

    def release() -> None:
        with suppress(OSError, EOFError):
            client.close()
        wire.release()

    return Link(client, release)


def _wire(
    destination: Destination, options: ConnectOptions, bastions: Bastions, label: str, depth: int
) -> _Wire:
    if destination.jumps:
        return _through_bastion(destination, options, bastions, label, depth)
    if destination.proxy_command:
        return _Wire(_by_command(destination.proxy_command, label), lambda: None)
    return _Wire(dialed(destination, options, label), lambda: None)


def _by_command(command: str, label: str) -> paramiko.ProxyCommand:
    """Simple ones: paramiko splits it into words, no shell reads it."""
    try:
        return paramiko.ProxyCommand(command.removeprefix("exec "))
    except (OSError, ValueError, IndexError) as error:
        message = f"{label}: the ProxyCommand can't be started: {error}"
        raise Unreachable(message, "--transport openssh leaves it to the system's ssh") from None


def _through_bastion(
    destination: Destination, options: ConnectOptions, bastions: Bastions, label: str, depth: int
) -> _Wire:
    *before, last = destination.jumps
    bastion = _hop(last, tuple(before), options, label)
    name = f"{label} (bastion {last})"

    def opened() -> Link:
        return _connected(bastion, options, bastions, name, depth + 1)

    key: Hashable = (bastion.user, bastion.host, bastion.port, bastion.jumps)
    link = bastions.borrow(key, opened)
    try:
        channel = _channel(link, destination, options)
    except _Stuck:
        link.release()
        link = bastions.borrow(key, opened, not_this=link.client)
        try:
            channel = _channel(link, destination, options)
        except (_Stuck, _Closed) as error:
            link.release()
            raise _no_way(label, last, destination, error) from None
    except _Closed as error:
        link.release()
        raise _no_way(label, last, destination, error) from None
    return _Wire(channel, link.release)


def _hop(text: str, before: tuple[str, ...], options: ConnectOptions, label: str) -> Destination:
    try:
        address = parse_address(text)
    except NoAddress as error:
        hint = "correct ProxyJump in the SSH configuration"
        raise Unreachable(f"{label}: ProxyJump: {error}", hint) from None
    found = resolve(address, options.ssh_config, options.user)
    # As with ssh -J: the hops before this one were said; only the first may have jumps of its own.
    return found._replace(jumps=before, proxy_command=None) if before else found


class _Stuck(Exception):
    """The bastion's connection does not answer any more."""


class _Closed(Exception):
    """The bastion answers, and says no."""


def _channel(link: Link, destination: Destination, options: ConnectOptions) -> paramiko.Channel:
    try:
        return link.client.open_channel(
            "direct-tcpip",
            (destination.host, destination.port),
            ("127.0.0.1", 0),
            timeout=timeout_of(destination, options),
        )
    except paramiko.ChannelException as error:
        raise _Closed(error.text) from None
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise _Stuck(str(error) or "it does not answer") from None


def _no_way(label: str, bastion: str, destination: Destination, error: Exception) -> Unreachable:
    where = f"{destination.host} port {destination.port}"
    message = f"{label}: the bastion {bastion} has no way to {where}: {error}"
    return Unreachable(
        message, "can the bastion reach it, and may it forward (AllowTcpForwarding)?"
    )
