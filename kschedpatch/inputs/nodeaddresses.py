"""Reads ``[user@]host[:port]`` as people write it for ssh, scp and URLs."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from kschedpatch.model.nodeaddress import NodeAddress

_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252}[A-Za-z0-9_.])?", re.ASCII)
_USER = re.compile(
    r"[^\s\x00-\x1f\x7f-\x9f@:/\\'\"`$;&|<>(){}*?!-][^\s\x00-\x1f\x7f-\x9f:'\"`]{0,63}"
)
_BRACKETED = re.compile(r"\[([^][]+)](?::([0-9]{1,5}))?", re.ASCII)
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)


class NoAddress(Exception):
    """Why a text is no address of a node, in words."""


def parse_address(text: str) -> NodeAddress:
    if not text:
        raise NoAddress("the name of a node is empty")
    if text.startswith("-"):
        raise NoAddress(f"{text!r} starts with a dash: no node has such a name")
    if re.search(r"[\s\x00-\x1f\x7f-\x9f]", text):
        raise NoAddress(f"{text!r} has a blank or a control character in it")
    if "://" in text:
        return _from_url(text)
    user, at, place = text.rpartition("@")
    if at and not user:
        raise NoAddress(f"{text!r} has nothing before the @")
    host, port = _host_and_port(place, text)
    return NodeAddress(host, port, _user(user, text) if at else None, text)


def _from_url(text: str) -> NodeAddress:
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError as error:
        raise NoAddress(f"{text!r} is no address: {error}") from None
    if url.scheme != "ssh":
        raise NoAddress(f"{text!r} is no SSH address: write ssh://host or just host")
    if url.path not in {"", "/"} or url.query or url.fragment:
        raise NoAddress(f"{text!r} has more than a host and a port")
    if url.password is not None:
        shown = f"ssh://…@{url.hostname}"
        raise NoAddress(f"{shown}: a password in an address would be seen by everybody")
    place = url.netloc.rpartition("@")[2]
    host, parsed = _host_and_port(place, text)
    user = _user(unquote(url.username), text) if url.username is not None else None
    return NodeAddress(host, port if port is not None else parsed, user, text)


def _user(user: str, text: str) -> str:
    if not _USER.fullmatch(user):
        raise NoAddress(f"{text!r}: {user!r} is no user name")
    return user


def _host_and_port(place: str, text: str) -> tuple[str, int | None]:
    bracketed = _BRACKETED.fullmatch(place)
    if bracketed is not None:
        return _ipv6(bracketed[1], text), _port(bracketed[2], text)
    if place.count(":") > 1:
        return _ipv6(place, text), None  # bare: its last group is never a port
    host, colon, port = place.partition(":")
    if not _HOST.fullmatch(host) or ".." in host:
        raise NoAddress(f"{text!r}: {host!r} is no host name")
    return host, _port(port, text) if colon else None


def _ipv6(host: str, text: str) -> str:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        raise NoAddress(f"{text!r}: {host!r} is no IPv6 address") from None
    zone = host.partition("%")[2]
    if zone and not _HOST.fullmatch(zone):
        raise NoAddress(f"{text!r}: {zone!r} is no network interface")
    return host


def _port(port: str | None, text: str) -> int | None:
    if port is None:
        return None
    if not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
        raise NoAddress(f"{text!r}: {port!r} is no port")
    return int(port)


def parse_addresses(texts: Iterable[str]) -> tuple[NodeAddress, ...]:
    """The nodes in the order they were given; a node that was written twice is one node."""
    return distinct(parse_address(text) for text in texts)


def distinct(addresses: Iterable[NodeAddress]) -> tuple[NodeAddress, ...]:
    seen: dict[tuple[str, int | None, str | None], NodeAddress] = {}
    for address in addresses:
        seen.setdefault((address.host.lower(), address.port, address.user), address)
    return tuple(seen.values())
