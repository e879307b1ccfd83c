"""The verbs of agent/45-images.sh as Python sees them: images are pulled, uploaded, imported."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kschedpatch.core import pulling
from kschedpatch.core.imagenames import full_name
from kschedpatch.model.images import ImageArchive
from kschedpatch.node.agent import Agent, Say, VerbFailed
from kschedpatch.node.payload import file_payload
from kschedpatch.node.verbs import sending_time

#: Beyond what the node itself waits for.
_MARGIN = 60.0


class Pulled(NamedTuple):
    how: str
    """there, pulled, or unknown: nothing on the node can tell."""
    image_id: str
    digests: tuple[str, ...]
    """Asked for only where the image is named by its digest."""


class Offer(NamedTuple):
    """What a node has of an archive's image."""

    image_id: str
    """Of the image of this name; empty where there is none."""
    have: int
    """Bytes of the archive that have arrived before."""


def pull(agent: Agent, run: str, image: str, timeout: float, say: Say) -> Pulled:
    limit = math.ceil(timeout)
    try:
        reply = agent.call(
            "pull",
            *(("run", run), ("image", image), ("timeout", str(limit))),
            say=say,
            timeout=limit + _MARGIN,
        )
    except VerbFailed as error:
        if error.reason == "pull":
            error.detail = pulling.told(image, "\n".join(error.log))
        raise
    return Pulled(reply.first("how"), reply.first("id"), reply.all("digest"))


def offer(agent: Agent, run: str, archive: ImageArchive) -> Offer:
    reply = agent.call(
        "offer", ("run", run), ("image", archive.image), ("sha256", archive.file.sha256)
    )
    have = reply.first("have")
    return Offer(reply.first("id"), int(have) if have.isdecimal() and len(have) < 16 else 0)


def upload(
    agent: Agent,
    run: str,
    archive: ImageArchive,
    offset: int,
    on_progress: Callable[[int, int], None],
) -> None:
    """From ``offset`` on; what has arrived stays on the node, also if this is cut off."""
    file = archive.file
    place = Path(file.location)
    rest = file_payload(place, file.size, file.sha256, on_progress, offset=offset, to_the_end=True)
    agent.call(
        "upload",
        *(("run", run), ("sha256", file.sha256)),
        *(("offset", str(offset)), ("size", str(file.size))),
        payloads=(rest,),
        timeout=sending_time(file.size - offset),
    )


def import_archive(agent: Agent, run: str, archive: ImageArchive, timeout: float, say: Say) -> str:
    """Returns the ID by which the runtime now knows the image of this name; empty: it does not."""
    limit = math.ceil(timeout)
    reply = agent.call(
        "import",
        *(("run", run), ("image", archive.image)),
        *(("sha256", archive.file.sha256), ("timeout", str(limit))),
        say=say,
        timeout=2 * limit + _MARGIN,
    )
    return reply.first("id")


def hold(agent: Agent, run: str, image: str) -> bool:
    """Whether the runtime keeps it from garbage collection now, be it by our doing or not."""
    reply = agent.call("hold", ("run", run), ("image", full_name(image)))
    return reply.first("held") in {"held", "already"}
