"""Where a node is, as the operator named it."""

from __future__ import annotations

from typing import NamedTuple


class NodeAddress(NamedTuple):
    host: str
    port: int | None = None
    """None: what the SSH configuration says, or 22."""
    user: str | None = None
    label: str = ""
    """How messages name the node."""
