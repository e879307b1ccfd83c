"""The planned image comes to a node: it is there already, is pulled, or is uploaded and imported.

Nothing live is touched by it, and nothing has to be undone: what nobody runs is only there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from kschedpatch.core.imagenames import digest_of
from kschedpatch.model.images import ImageArchive
from kschedpatch.node import images
from kschedpatch.node.agent import Agent, Say, VerbFailed
from kschedpatch.node.errors import ConnectionLost, NodeError, Stopped, Unreachable
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.fleet import Member

#: Connections that break one after the other, without a byte arriving.
_TRIES = 4
_PAUSE = 1.0
_EVERY = 0.25
_DAMAGED = "damaged"


class NotBrought(Exception):
    """The image that is on the node now is not the one that was meant."""


class Telling(NamedTuple):
    """Who hears how it goes."""

    say: Say
    sent: Callable[[str, int, int], None]
    """Of what, how many bytes, of how many."""


def bring_image(
    member: Member,
    run: str,
    image: str,
    archive: ImageArchive | None,
    timeout: float,
    cancel: Cancel,
    telling: Telling,
) -> None:
    def say(text: str) -> None:
        """A call that is left from within is cut off, and ends on the node as well: who asks to
        stop does not wait for a registry."""
        cancel.check()
        telling.say(text)

    if archive is not None:
        looking = telling._replace(say=say)
        _bring_archive(_Transfer(member, run, archive, cancel, looking), timeout)
        return
    pulled = images.pull(member.agent, run, image, timeout, say)
    wanted = digest_of(image)
    if wanted and pulled.how != "unknown" and wanted not in pulled.digests:
        held = ", ".join(pulled.digests) or "none that the runtime tells"
        raise NotBrought(f"the node's {image} has another digest: {held}")
    if pulled.how == "unknown":
        telling.say("nothing here can tell whether the image is there: the kubelet gets it")
    elif pulled.how == "pulled":
        telling.say(f"{image} is pulled")


def hold_image(member: Member, run: str, image: str, say: Say) -> None:
    """The way back needs the old image. Where it can't be pinned it stays as long as nobody
    collects it, and `rollback` pulls it again."""
    if not images.hold(member.agent, run, image):
        say(f"{image} can't be pinned by this node's runtime: only its registry keeps it for sure")


class _Transfer(NamedTuple):
    member: Member
    run: str
    archive: ImageArchive
    cancel: Cancel
    telling: Telling


def _bring_archive(transfer: _Transfer, timeout: float) -> None:
    archive, say = transfer.archive, transfer.telling.say
    for again in (False, True):
        if not _uploaded(transfer):
            say(f"{archive.image} was there")
            return
        agent = transfer.member.agent
        try:
            found = images.import_archive(agent, transfer.run, archive, timeout, say)
        except VerbFailed as error:
            # A part that was there before may have been spoilt, by a power cut for one.
            if error.reason != _DAMAGED or again:
                raise
            say("what arrived is damaged: sending it once more")
            continue
        if found not in archive.ids:
            wanted = archive.variants[0].image_id if archive.variants else "?"
            raise NotBrought(
                f"after the import {archive.image} is {found or 'not there'} on the node, "
                f"and {wanted} in {archive.file.name}"
            )
        say(f"{archive.image} is imported, its ID as in the archive")
        return


def _uploaded(transfer: _Transfer) -> bool:
    """True when all of the archive is on the node, False where its image is there already. A
    connection that breaks is made anew, and the rest goes over it."""
    archive, size = transfer.archive, transfer.archive.file.size
    agent, tries, before = transfer.member.agent, 0, -1
    while True:
        try:
            offer = images.offer(agent, transfer.run, archive)
            if offer.image_id and offer.image_id in archive.ids:
                return False
            have = offer.have if offer.have <= size else 0
            tries, before = (tries, before) if have <= before else (0, have)
            if have < size:
                sent = Meter(archive.file.name, have, transfer.telling.sent, transfer.cancel)
                images.upload(agent, transfer.run, archive, have, sent)
        except (ConnectionLost, Unreachable, Stopped) as error:
            transfer.cancel.check()
            tries += 1
            if tries >= _TRIES:
                raise
            transfer.telling.say(f"going on over a new connection: {error}")
            time.sleep(_PAUSE)
            agent = _reconnected(transfer, agent)
        else:
            return True


def _reconnected(transfer: _Transfer, agent: Agent) -> Agent:
    try:
        return transfer.member.reconnect()
    except NodeError:
        return agent  # its next call fails, and counts


class Meter:
    """Tells what a sender reports now and then, not for each chunk of it."""

    def __init__(
        self,
        name: str,
        begun_at: int,
        tell: Callable[[str, int, int], None],
        cancel: Cancel,
    ) -> None:
        self._cancel = cancel
        self._name = name.rpartition("/")[2]
        self._begun_at = begun_at
        self._tell = tell
        self._since = time.monotonic()
        self._last = 0.0

    def __call__(self, sent: int, size: int) -> None:
        if self._cancel.requested:
            raise Stopped("")  # a sign for who sends; the run tells it
        now = time.monotonic()
        if now - self._last < _EVERY and sent < size:
            return
        self._last = now
        self._tell(self._told(sent, size, now - self._since), sent, size)

    def _told(self, sent: int, size: int, seconds: float) -> str:
        rate = (sent - self._begun_at) / max(seconds, 0.01) / (1 << 20)
        head = f"{self._name}: {sent / (1 << 20):.1f} of {size / (1 << 20):.1f} MiB"
        return f"{head}, {rate:.1f} MiB/s"
