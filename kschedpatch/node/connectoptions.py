"""How nodes are reached: the choices of one run, the same for every node."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kschedpatch.model.nodeaddress import NodeAddress
    from kschedpatch.node.bastions import Bastions
    from kschedpatch.node.keyring import KeyRing
    from kschedpatch.node.sshconfig import Destination

CONNECT_TIMEOUT = 15.0


class TransportKind(StrEnum):
    PARAMIKO = "paramiko"
    OPENSSH = "openssh"
    LOCAL = "local"


class ConnectOptions(NamedTuple):
    kind: TransportKind = TransportKind.PARAMIKO
    identity: Path | None = None
    known_hosts: Path | None = None
    ssh_config: Path | None = None
    accept_new: bool = False
    connect_timeout: float | None = None
    """None: what the SSH configuration says, or 15 s."""
    user: str | None = None
    """Where neither the address nor the SSH configuration names one."""
    prompts: bool = False
    """Whether the system's ssh may ask at the terminal (a pass phrase, a touch of a token)."""
    keys: KeyRing | None = None
    """None: encrypted keys are left out."""
    bastions: Bastions | None = None
    """Shared by all nodes of a run; None: each connection has its own."""
    found: dict[NodeAddress, Destination] | None = None
    """What the SSH configuration says of nodes. It is asked again once a connection could not be
    made: the way may be another by then (`Match exec`). None: before each connection."""
    on_note: Callable[[str], None] | None = None
    """Told what the operator should know: an enrolled host key, a configuration half seen."""
