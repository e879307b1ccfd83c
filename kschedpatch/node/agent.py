"""The node half as Python sees it: one method a verb, values in and out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple

from kschedpatch.core.objects.ledger import GONE
from kschedpatch.model.facts import Hashes, NodeFacts
from kschedpatch.model.inspection import Inspection, InspectionAsked
from kschedpatch.node.chain import Chain, Reply, Wanted
from kschedpatch.node.factreading import facts_from
from kschedpatch.node.inspection import inspection_arguments, inspection_from, seconds_for
from kschedpatch.node.payload import Payload, bytes_payload
from kschedpatch.node.script import confirming_script
from kschedpatch.node.session import Session
from kschedpatch.node.verbs import LONG, SHORT, wanted

Say = Callable[[str], None]


class Code(IntEnum):
    """How a verb ended; the numbers stand in agent/10-node.sh."""

    DONE = 0
    REFUSED = 10
    LOCKED = 11
    BAD = 12
    TOO_LATE = 13
    COULD_NOT = 14
    FOREIGN = 15


class VerbFailed(Exception):
    """The node half answered, and the answer is no."""

    def __init__(self, label: str, verb: str, reply: Reply) -> None:
        self.label = label
        self.verb = verb
        self.code = reply.code
        self.reason = reply.first("reason", "other")
        self.detail = reply.first("detail") or reply.stderr or f"exit code {reply.code}"
        blob = reply.blobs.get("log", b"").decode("utf-8", "replace").splitlines()
        self.log = (*blob, *reply.all("log"))
        self.journal = reply.all("journal")
        self.reply = reply
        super().__init__(f"{label}: {self.detail}")


class Kept(NamedTuple):
    before: bytes | None
    after: bytes | None
    patch: bytes | None = None
    objects: bytes | None = None
    """The run's ledger (``core.objects.ledger``)."""
    files: tuple[str, ...] = ()
    """Names of the files of its generation, as long as that is there."""


class Answer(NamedTuple):
    """What kubectl on the node said."""

    code: int
    out: bytes
    err: str


class Agent:
    """Calls may come from several threads: each has a channel of its own."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def label(self) -> str:
        return self._session.label

    def close(self) -> None:
        self._session.close()

    def will_confirm(self) -> Agent:
        """For nothing else: a node then takes in a quarter of the script."""
        self._session.script = confirming_script()
        return self

    def _call(
        self,
        verb: str,
        *args: tuple[str, str],
        payloads: Sequence[Payload] = (),
        say: Say | None = None,
        timeout: float = SHORT,
    ) -> Reply:
        return self.do(wanted(verb, args, payloads, timeout), say)

    #: For verbs whose methods would not fit in here: see ``images``.
    call = _call

    def do(self, asked: Wanted, say: Say | None = None) -> Reply:
        return self.answer(self.begin(asked), say)

    def begin(self, *asked: Wanted) -> Chain:
        """Of ``verbs``: each of them follows if the one before has done what it should."""
        return self._session.chain(*asked)

    def answer(self, chain: Chain, say: Say | None = None) -> Reply:
        """Of the next of them."""
        verb = chain.verb
        reply = chain.reply(say)
        if reply.code != Code.DONE:
            raise VerbFailed(self.label, verb, reply)
        return reply

    def facts(
        self,
        paths: Sequence[str] = (),
        images: Sequence[str] = (),
        *,
        running: bool = False,
        room: bool = False,
        api: bool = True,
        hashes: Hashes = Hashes.CURRENT,
    ) -> NodeFacts:
        asked = [*(("path", p) for p in paths), *(("image", i) for i in images)]
        flags = {"api": api, "running": running, "room": room}
        how = (("hashes", hashes), *((name, str(int(flag))) for name, flag in flags.items()))
        timeout = LONG if hashes is Hashes.ALL else SHORT
        return facts_from(self.label, self._call("facts", *how, *asked, timeout=timeout))

    def kept(self, run: str) -> Kept:
        reply = self._call("kept", ("run", run))
        get, files_there = reply.blobs.get, reply.all("file")
        objects = get("objects.json")
        return Kept(get("before"), get("after"), get("patch.yaml"), objects, files_there)

    def inspect(self, asked: InspectionAsked, say: Say | None = None) -> Inspection:
        arguments = inspection_arguments(asked)
        reply = self._call("inspect", *arguments, say=say, timeout=seconds_for(asked))
        return inspection_from(self.label, reply, asked)

    def lock(self, run: str, kind: str, who: str, extent: int) -> str:
        """Returns the run whose stale lock was taken over, if there was one."""
        reply = self._call(
            "lock",
            ("run", run),
            ("kind", kind),
            ("who", who),
            ("extent", str(extent)),
        )
        return reply.first("took_over")

    def unlock(self, run: str) -> None:
        self._call("unlock", ("run", run))

    def renew(self, run: str) -> str:
        """Returns the state of the transaction."""
        return self._call("renew", ("run", run), timeout=20).first("state")

    def note(
        self,
        run: str,
        state: str,
        ledger: bytes = b"",
        about: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Keeps what a run does to objects; ``about`` where the node keeps nothing of it yet."""
        payloads = () if state == GONE else (bytes_payload(ledger),)
        self._call("note", ("run", run), ("outcome", state), *about, payloads=payloads)

    def stands(self, run: str) -> None:
        """Manifest and files are what was switched in, and the operator is alive."""
        self._call("stands", ("run", run), timeout=LONG)

    def confirm(self, run: str) -> None:
        self._call("confirm", ("run", run), timeout=20)

    def finish(self, run: str, outcome: str) -> None:
        self._call("finish", ("run", run), ("outcome", outcome))

    def restore(self, run: str, say: Say | None = None) -> str:
        """Returns how the transaction ended: restored, unswitched, foreign, confirmed."""
        return self._call("restore", ("run", run), say=say, timeout=120).first("outcome")

    def api(self, words: Sequence[str], stdin: bytes | None = None, timeout: int = 10) -> Answer:
        args = [*(("word", word) for word in words), ("timeout", str(timeout))]
        payloads = () if stdin is None else (bytes_payload(stdin),)
        if stdin is not None:
            args.append(("stdin", "1"))
        reply = self._call("api", *args, payloads=payloads, timeout=timeout + 30)
        err = "\n".join(reply.all("err"))
        return Answer(int(reply.first("code", "1")), reply.blobs.get("out", b""), err)
