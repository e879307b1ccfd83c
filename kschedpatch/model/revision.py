"""What a node keeps of each run, and of the one that is open."""

from __future__ import annotations

from typing import NamedTuple

ORIGINAL = "original"


class Revision(NamedTuple):
    run: str
    """The same on all nodes, sorted by time; ``original`` names what stood there first."""
    kind: str
    """apply or rollback; empty for the original."""
    when: int
    """Seconds since 1970, by the node's clock: for people, never for decisions."""
    who: str
    reason: str
    patch: str
    """The patch's name; empty for a rollback."""
    before: str
    """sha256 of the manifest that stood there."""
    after: str
    outcome: str
    """open, confirmed, restored, foreign or failed."""
    generation: str = ""
    objects: str = ""
    """open or settled where a ledger of objects is kept: what the run does to them may not be done
    yet, or is. Empty: it has nothing to do with any."""


class OpenTransaction(NamedTuple):
    run: str
    kind: str
    who: str
    since: int
    state: str
    """locked, armed, moved, switched or restoring."""
    deadline_in: int
    """Seconds until the dead man restores; negative when that time has passed."""
    dead_man: bool
    """He is alive and counts."""
