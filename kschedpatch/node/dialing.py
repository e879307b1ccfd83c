"""A TCP connection to a host, before anybody speaks SSH over it.

Without paramiko: while that is imported, the host's sshd starts and says its first words.
"""

from __future__ import annotations

import socket

from kschedpatch.node.connectoptions import CONNECT_TIMEOUT, ConnectOptions
from kschedpatch.node.errors import Unreachable
from kschedpatch.node.sshconfig import Destination

#: The kernel gives up on a peer that acknowledges nothing for so long: a black hole is noticed.
_PEER_TIMEOUT_MS = 30_000


def timeout_of(destination: Destination, options: ConnectOptions) -> float:
    return options.connect_timeout or destination.connect_timeout or CONNECT_TIMEOUT


class _Prompt(socket.socket):
    """Acknowledges at once. sshd leaves Nagle's algorithm on where there is no terminal: the second
    of two small answers waits for the first to be acknowledged, and for that the kernel takes its
    time, up to 40 ms each."""

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        data = super().recv(size, flags)
        # The kernel forgets it with what is sent next.
        self.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return data


def dialed(destination: Destination, options: ConnectOptions, label: str) -> socket.socket:
    timeout = timeout_of(destination, options)
    where = f"{destination.host} port {destination.port}"
    try:
        sock = socket.create_connection((destination.host, destination.port), timeout)
    except socket.gaierror:
        message = f"{label}: nobody knows a host named {destination.host}"
        raise Unreachable(
            message, "check the name, and Hostname in the SSH configuration"
        ) from None
    except TimeoutError:
        message = f"{label}: {where} does not answer within {timeout:g} s"
        raise Unreachable(
            message, "is it up, and is there a way to it? (--connect-timeout)"
        ) from None
    except OSError as error:
        message = f"{label}: no connection to {where}: {error.strerror or error}"
        raise Unreachable(message, "is sshd running there, on this port?") from None
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a factor of ten for short calls
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 15),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", _PEER_TIMEOUT_MS),
    ):
        if hasattr(socket, name):  # not everywhere
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    if not hasattr(socket, "TCP_QUICKACK"):
        return sock
    prompt = _Prompt(sock.family, sock.type, sock.proto, sock.detach())
    prompt.settimeout(timeout)
    return prompt
