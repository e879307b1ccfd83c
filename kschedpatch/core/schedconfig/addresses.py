"""The insecure bind addresses of v1beta1 and v1beta2, as Go splits them."""

from __future__ import annotations

import re

_ATOI = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)


def address_problem(address: str | None, version: str, minor: int) -> str:
    """Why the scheduler refuses a healthzBindAddress or metricsBindAddress; empty where it
    does not. 1.22 wants an address to serve on, later minors one that serves nothing."""
    if address is None:
        return ""
    if minor >= 23:
        return _closed(address) if address else ""
    split = split_host_port(address)
    if split is None:
        if is_address(address) or version == "v1beta1":
            return ""  # the default port, or the default altogether
        return "is no address with a port, such as 127.0.0.1:10251"
    host, port = split
    number = int(port) if _ATOI.fullmatch(port) else 0
    if not 1 <= number <= 65535:
        return f"has no port in 1…65535 ({port!r}): 1.22 can't close it"
    return "" if not host or is_address(host) else f"has no IP address ({host!r})"


def _closed(address: str) -> str:
    split = split_host_port(address)
    if split is None or not _ATOI.fullmatch(split[1]):
        return f"must be empty or end in port 0, this is {address!r}"
    host, port = split
    if not is_address(host):
        return f"has no IP address ({host!r})"
    return "" if int(port) == 0 else "must be empty or have port 0: the insecure port is gone"


def listeners_clash(healthz: str | None, metrics: str | None, version: str) -> bool:
    """Whether 1.22 stands in its own way: two different addresses are two listeners, and one of
    every address leaves no port for another."""
    ours, theirs = _listener(healthz, version), _listener(metrics, version)
    if ours is None or theirs is None or ours == theirs or ours[1] != theirs[1]:
        return False
    return bool({ours[0], theirs[0]} & {"0.0.0.0", "::"})  # noqa: S104  compared, not bound


def _listener(address: str | None, version: str) -> tuple[str, str] | None:
    """Where 1.22 listens; None for an address that it refuses."""
    import ipaddress

    default = ("0.0.0.0", "10251")  # noqa: S104  the scheduler's own
    if address is None:
        return default
    split = split_host_port(address)
    if split is None:
        split = (address, default[1]) if is_address(address) else None
    if split is None:
        return default if version == "v1beta1" else None
    host = split[0] or default[0]
    return (str(ipaddress.ip_address(host)), split[1]) if is_address(host) else None


def split_host_port(text: str) -> tuple[str, str] | None:
    """net.SplitHostPort; None where it fails."""
    colon = text.rfind(":")
    if colon < 0:
        return None
    after_host = 0
    if text.startswith("["):
        end = text.find("]")
        if end < 0 or end + 1 != colon:
            return None
        host, after_host = text[1:end], end + 1
        if "[" in host:
            return None
    else:
        host = text[:colon]
        if ":" in host or "[" in host:
            return None
    return None if "]" in text[after_host:] else (host, text[colon + 1 :])


def is_address(text: str) -> bool:
    """Leading zeros in IPv4 are dropped, not refused."""
    import ipaddress  # for old versions of the configuration only

    plain = re.sub(r"(?<![0-9a-fA-F:])0+(?=[0-9])", "", text) if "." in text else text
    try:
        return "%" not in plain and bool(ipaddress.ip_address(plain))
    except ValueError:
        return False
