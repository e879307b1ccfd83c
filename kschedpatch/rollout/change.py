"""What a run does to one node, as a value."""

from __future__ import annotations

from typing import NamedTuple

from kschedpatch.model.fleetplan import Canary, Health, Preflight
from kschedpatch.model.images import ImageArchive
from kschedpatch.model.plan import Generation


class Change(NamedTuple):
    """What is to become of one node's manifest, by an apply or a rollback alike."""

    label: str
    node_name: str
    machine_id: str
    before_sha256: str
    after: str
    after_sha256: str
    generation: Generation | None
    health: Health
    health_before: Health
    preflight: Preflight | None
    image_before: str
    leads: bool
    patch_name: str
    patch_text: str
    canary: Canary | None = None
    no_canary: str = ""
    """Why there can be none."""
    lease: str = ""
    """The live scheduler's, ``namespace/name``; empty where it has none."""
    hostname: str = ""
    """By it the lease names its holder."""
    archive: ImageArchive | None = None
    """What the image comes in; without it, it is there or is pulled."""
    base: str = ""
    """What the manifest is made from, where no disk has that yet."""
    image_is_there: bool = False
    """The planned one was seen on the node a moment ago."""
    in_place: bool = False
    """The scheduler that stands there does not work: there is nothing to go back to."""
