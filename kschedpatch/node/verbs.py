"""What is asked of a node in the course of a change, as values, and how the answers are read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kschedpatch.core.imagenames import full_name
from kschedpatch.model.fleetplan import Canary, Health, Preflight
from kschedpatch.model.plan import Generation, StagedFile
from kschedpatch.node.chain import Reply, Wanted
from kschedpatch.node.payload import Payload, bytes_payload, file_payload
from kschedpatch.node.quoting import Unquotable, quote

#: A verb that waits on the node says so by steps; one that is silent for longer is cut off.
SHORT, LONG, IDLE = 60.0, 400.0, 60.0
#: Bytes a second.
_SLOWEST = 32 * 1024
_LARGEST_TEXT = 64 * 1024
_NO_TEXT = re.compile(rb"[^\t\n -~]")


class Proof(NamedTuple):
    """A scheduler that was seen ready, and stayed so."""

    uid: str
    seconds: float
    """From the start of the watch until it was ready."""
    buried: str = ""
    """The holder whose lease had to be emptied."""


def wanted(
    verb: str,
    args: Sequence[tuple[str, str]],
    payloads: Sequence[Payload] = (),
    timeout: float = SHORT,
) -> Wanted:
    return Wanted(verb, args, tuple(payloads), timeout, min(timeout, IDLE))


def stage(
    run: str,
    manifest: str,
    patch: str,
    generation: Generation | None,
    on_sent: Callable[[str, int, int], None] | None = None,
    base: str = "",
    *,
    arms: bool = False,
) -> Wanted:
    """``on_sent`` hears of large files: which, the bytes sent so far, and of how many. ``arms``:
    the run goes on to `arm`, by which texts come onto the disk as well."""
    args = [("run", run)]
    texts: list[str] = []
    framed: list[Payload] = []
    for name, text in (("after", manifest), ("patch.yaml", patch), ("base", base)):
        # What a power cut has left may be anything, and is brought as it is.
        word = "" if _is_no_word(text) else text
        texts.append(word)
        if word != text:
            args.append(("framed", name))
            framed.append(bytes_payload(text.encode("utf-8", "surrogateescape")))
    files: list[Payload] = []
    if generation is not None:
        args.append(("generation", generation.id))
        for staged in generation.files:
            plain = _text_of(staged)
            args.append(("file", _told(staged, is_text=plain is not None)))
            if plain is not None:
                texts.append(plain)
            else:
                files.append(_staged_payload(staged, on_sent))
    if arms and not files:
        args.append(("later", "1"))
    payloads = (bytes_payload(" ".join(map(quote, texts)).encode()), *framed, *files)
    size = sum(payload.size for payload in payloads)
    return wanted("stage", args, payloads, sending_time(size))


def preflight(run: str, trial: Preflight, image_before: str, *, full: bool) -> Wanted:
    """The planned scheduler runs once; ``full`` or not: its image has to be there."""
    args = [("run", run), ("image", full_name(trial.image))]  # ctr knows no short names
    if full:
        args += [("word", word) for word in trial.command]
        args += [("mount", f"{host}:{inside}") for host, inside in trial.mounts]
        args += [("env", f"{name}={value}") for name, value in trial.env]
        args.append(("same_image", str(int(trial.image == image_before))))
        args.append(("config", _config_path(trial)))
    return wanted("preflight", args, timeout=LONG)


def how_tried(reply: Reply) -> str:
    """By which tool a preflight was made (``none``: none could)."""
    return reply.first("how", "none")


def arm(run: str, old: str, new: str, patch: str, reason: str) -> Wanted:
    about = (("run", run), ("old", old), ("new", new), ("patch", patch), ("reason", reason))
    return wanted("arm", about)


def canary(run: str, planned: Canary, *, settle: float, timeout: float) -> Wanted:
    """It is started, and has done when it is proven; one that fails is gone when this is told."""
    args = (
        ("run", run),
        *_health_args(planned.health),
        ("settle", str(math.ceil(settle))),
        ("timeout", str(math.ceil(timeout))),
    )
    payloads = (bytes_payload(planned.manifest.encode()), bytes_payload(planned.config.encode()))
    return wanted("canary", args, payloads, timeout + settle + SHORT)


def switch(
    run: str,
    port: int = 0,
    lease: str = "",
    *,
    canary: Canary | None = None,
    in_place: bool = False,
) -> Wanted:
    """``port`` is the new scheduler's, where the canary hands over to it."""
    args = (
        ("run", run),
        ("in_place", str(int(in_place))),
        ("lease", lease),
        *_canary_args(canary),
        ("port", str(port)),
    )
    return wanted("switch", args, timeout=LONG)  # a large cluster's caches take their time


def buried(reply: Reply) -> str:
    """The holder whose lease had to be emptied: it had ended without giving it back."""
    return reply.first("buried")


def watch(
    run: str,
    health: Health,
    *,
    old: bool = False,
    canary: Canary | None = None,
    lease: str = "",
    settle: float,
    timeout: float,
) -> Wanted:
    """``canary``: there is one, which goes when the scheduler is proven."""
    args = (
        ("run", run),
        ("want", "old" if old else "new"),
        *_canary_args(canary),
        ("lease", lease),
        ("port", str(health.port)),
        *_health_args(health),
        ("settle", str(math.ceil(settle))),
        ("timeout", str(math.ceil(timeout))),
    )
    return wanted("watch", args, timeout=timeout + settle + SHORT)


def proof(reply: Reply) -> Proof:
    seconds = int(reply.first("ready_cs", "0")) / 100
    return Proof(reply.first("uid"), seconds, reply.first("buried"))


def sending_time(size: int) -> float:
    """A link that moves at all may be slow; one that does not is noticed by the idle time."""
    return LONG + size / _SLOWEST


def _is_no_word(text: str) -> bool:
    try:
        quote(text)
    except Unquotable:
        return True
    return False


def _text_of(staged: StagedFile) -> str | None:
    """What goes as a word among others, if it can: each file by itself is a process on the node."""
    content = staged.file.content
    if content is None or len(content) > _LARGEST_TEXT or _NO_TEXT.search(content):
        return None
    return content.decode("ascii")


def _told(staged: StagedFile, *, is_text: bool) -> str:
    size = "text" if is_text else staged.file.size
    return f"{staged.mode:04o}:{staged.file.sha256}:{size}:{staged.name}"


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
