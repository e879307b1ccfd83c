"""What verify asks of a node about the scheduler that runs there, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class SocketAsked(NamedTuple):
    path: str
    """As the container sees it."""
    http: str = ""
    """What to GET there; empty: does anybody listen?"""


class ExtenderAsked(NamedTuple):
    url: str
    resolve: str = ""
    """``host:port:address`` where only the cluster knows the address."""


class InspectionAsked(NamedTuple):
    host: str
    """Where the scheduler serves, as its health is asked."""
    port: int
    image: str
    mounts: tuple[tuple[str, str], ...] = ()
    """Host path and container path."""
    sockets: tuple[SocketAsked, ...] = ()
    extenders: tuple[ExtenderAsked, ...] = ()


class FileMode(NamedTuple):
    mode: int
    uid: int
    gid: int


class Identity(NamedTuple):
    """As whom the scheduler's process acts."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    capabilities: int = 0
    """Effective, as the kernel's mask."""


class SocketLook(NamedTuple):
    path: str
    kind: str
    """socket, other or missing."""
    mode: FileMode | None = None
    way: tuple[FileMode, ...] = ()
    """The directories that lead there, from the container's root on."""
    curl: int | None = None
    """curl's exit code; None where it was not asked."""
    status: int = 0
    """The HTTP status; 0 without any."""
    body: bytes = b""
    said: str = ""
    """curl's own words about what went wrong."""


class ExtenderLook(NamedTuple):
    url: str
    curl: int | None = None
    status: int = 0
    said: str = ""


class Inspection(NamedTuple):
    """One round of looks at the running scheduler of a node. Empty where nothing was told."""

    label: str
    pid: int = 0
    """0: no scheduler runs."""
    tools: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    """Its command line."""
    mountinfo: str = ""
    same_file: Mapping[str, str] = MappingProxyType({})
    """For each container path asked about: same, other or missing, compared with the host's."""
    identity: Identity | None = None
    image: str = ""
    """What the runtime says that the container was made from."""
    image_ref: str = ""
    wanted_image: tuple[str, ...] = ()
    """The id and the digests that the manifest's image has on the node now."""
    configz: bytes | None = None
    configz_problem: str = ""
    log: bytes = b""
    """Of the container that runs now: its beginning and its end."""
    log_is_cut: bool = False
    nameservers: tuple[str, ...] = ()
    sockets: tuple[SocketLook, ...] = ()
    extenders: tuple[ExtenderLook, ...] = ()
