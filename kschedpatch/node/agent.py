"""The node half as Python sees it: one method a verb, values in and out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kschedpatch.core.imagenames import full_name
from kschedpatch.core.objects.ledger import GONE
from kschedpatch.model.facts import Hashes, NodeFacts
from kschedpatch.model.fleetplan import Canary, Health, Preflight
from kschedpatch.model.inspection import Inspection, InspectionAsked
from kschedpatch.model.plan import Generation, StagedFile
from kschedpatch.node.factreading import facts_from
from kschedpatch.node.inspection import inspection_arguments, inspection_from, seconds_for
from kschedpatch.node.payload import Payload, bytes_payload, file_payload
from kschedpatch.node.script import confirming_script
from kschedpatch.node.session import Reply, Session

Say = Callable[[str], None]

#: A verb that waits on the node says so by steps; one that is silent for longer is cut off.
_SHORT, _LONG, _IDLE = 60.0, 400.0, 60.0
#: Bytes a second.
_SLOWEST = 32 * 1024


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


class Proof(NamedTuple):
    """A scheduler that was seen ready, and stayed so."""

    uid: str
    seconds: float
    """From the start of the watch until it was ready."""
    buried: str = ""
    """The holder whose lease had to be emptied."""


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
        timeout: float = _SHORT,
    ) -> Reply:
        reply = self._session.call(
            verb, args, payloads, on_step=say, timeout=timeout, idle_timeout=min(timeout, _IDLE)
        )
        if reply.code != Code.DONE:
            raise VerbFailed(self.label, verb, reply)
        return reply

    #: For verbs whose methods would not fit in here: see ``images``.
    call = _call

    def facts(
        self,
        paths: Sequence[str] = (),
        images: Sequence[str] = (),
        *,
        running: bool = False,
        api: bool = True,
        hashes: Hashes = Hashes.CURRENT,
    ) -> NodeFacts:
        asked = [*(("path", p) for p in paths), *(("image", i) for i in images)]
        how = (("api", str(int(api))), ("hashes", hashes), ("running", str(int(running))))
        timeout = _LONG if hashes is Hashes.ALL else _SHORT
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

    def stage(
        self,
        run: str,
        manifest: str,
        patch: str,
        generation: Generation | None,
        say: Say | None = None,
        on_sent: Callable[[str, int, int], None] | None = None,
        base: str = "",
    ) -> None:
        """``on_sent`` hears of large files: which, the bytes sent so far, and of how many."""
        payloads = [bytes_payload(text.encode()) for text in (manifest, patch, base)]
        args = [("run", run)]
        if generation is not None:
            args.append(("generation", generation.id))
            for staged in generation.files:
                args.append(("file", _told(staged)))
                payloads.append(_staged_payload(staged, on_sent))
        size = sum(payload.size for payload in payloads)
        self._call("stage", *args, payloads=payloads, say=say, timeout=sending_time(size))

    def preflight(
        self, run: str, trial: Preflight, image_before: str, *, full: bool, say: Say | None = None
    ) -> str:
        """Runs the planned scheduler once; returns by which tool (``none``: none could)."""
        args = [("run", run), ("image", full_name(trial.image))]  # ctr knows no short names
        if full:
            args += [("word", word) for word in trial.command]
            args += [("mount", f"{host}:{inside}") for host, inside in trial.mounts]
            args += [("env", f"{name}={value}") for name, value in trial.env]
            args.append(("same_image", str(int(trial.image == image_before))))
            args.append(("config", _config_path(trial)))
        return self._call("preflight", *args, say=say, timeout=_LONG).first("how", "none")

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

    def arm(self, run: str, old: str, new: str, patch: str, reason: str) -> None:
        self._call(
            "arm",
            *(("run", run), ("old", old), ("new", new), ("patch", patch), ("reason", reason)),
        )

    def canary(
        self, run: str, canary: Canary, *, settle: float, timeout: float, say: Say | None = None
    ) -> None:
        """Starts it and returns when it is proven; one that fails is gone when this is told."""
        payloads = (bytes_payload(canary.manifest.encode()), bytes_payload(canary.config.encode()))
        self._call(
            "canary",
            ("run", run),
            *_health_args(canary.health),
            ("settle", str(math.ceil(settle))),
            ("timeout", str(math.ceil(timeout))),
            payloads=payloads,
            say=say,
            timeout=timeout + settle + _SHORT,
        )

    def switch(
        self,
        run: str,
        port: int = 0,
        lease: str = "",
        *,
        canary: Canary | None = None,
        in_place: bool = False,
        say: Say | None = None,
    ) -> str:
        """``port`` is the new scheduler's, where the canary hands over to it. Returns the holder
        whose lease had to be emptied, because it had ended without giving it back."""
        reply = self._call(
            "switch",
            ("run", run),
            ("in_place", str(int(in_place))),
            ("lease", lease),
            *_canary_args(canary),
            ("port", str(port)),
            say=say,
            timeout=_LONG,  # in a large cluster the caches of the new one take their time
        )
        return reply.first("buried")

    def watch(
        self,
        run: str,
        health: Health,
        *,
        old: bool = False,
        canary: Canary | None = None,
        lease: str = "",
        settle: float,
        timeout: float,
        say: Say | None = None,
    ) -> Proof:
        """``canary``: there is one, which goes when the scheduler is proven."""
        reply = self._call(
            "watch",
            ("run", run),
            ("want", "old" if old else "new"),
            *_canary_args(canary),
            ("lease", lease),
            ("port", str(health.port)),
            *_health_args(health),
            ("settle", str(math.ceil(settle))),
            ("timeout", str(math.ceil(timeout))),
            say=say,
            timeout=timeout + settle + _SHORT,
        )
        seconds = int(reply.first("ready_cs", "0")) / 100
        return Proof(reply.first("uid"), seconds, reply.first("buried"))

    def stands(self, run: str) -> None:
        """Manifest and files are what was switched in, and the operator is alive."""
        self._call("stands", ("run", run), timeout=_LONG)

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


def sending_time(size: int) -> float:
    """A link that moves at all may be slow; one that does not is noticed by the idle time."""
    return _LONG + size / _SLOWEST


def _told(staged: StagedFile) -> str:
    return f"{staged.mode:04o}:{staged.file.sha256}:{staged.file.size}:{staged.name}"


def _staged_payload(staged: StagedFile, on_sent: Callable[[str, int, int], None] | None) -> Payload:
    file = staged.file
    if file.content is not None:
        return bytes_payload(file.content)
    told = None if on_sent is None else partial(on_sent, staged.name)
    return file_payload(Path(file.location), file.size, file.sha256, told)


def _canary_args(canary: Canary | None) -> tuple[tuple[str, str], ...]:
    if canary is None:
        return ()
    return (("canary", "1"), ("retry", str(round(canary.retry * 100))))


def _health_args(health: Health) -> tuple[tuple[str, str], ...]:
    return (
        ("host", f"[{health.host}]" if ":" in health.host else health.host),
        ("health", health.path.lstrip("/")),
        ("log", str(int(not health.proves_readiness))),
    )


def _config_path(trial: Preflight) -> str:
    """Where the host keeps what --config names in the container."""
    flag = next((w.partition("=")[2] for w in trial.command if w.startswith("--config=")), "")
    return next((host for host, inside in trial.mounts if inside == flag), "")
