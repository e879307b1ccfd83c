"""What happens during a run, as it happens: lines, JSON, a live view, or nothing. On stderr.

Events come from several threads; whoever shows them takes care of that here.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from kschedpatch.model.events import Event, Listener, Phase, State, nobody
from kschedpatch.report.progressmode import ProgressMode
from kschedpatch.report.terminal import Paint, paint_for, printable

API_VERSION = "kschedpatch.io/v1"


#: What is being done, and what is said when it is done.
WORDS: dict[Phase, tuple[str, str]] = {
    Phase.CONNECT: ("connecting", "connected"),
    Phase.FACTS: ("looking", "looked at"),
    Phase.INSPECT: ("inspecting the scheduler", "scheduler inspected"),
    Phase.RIGHTS: ("asking the API server", "API server asked"),
    Phase.PLAN: ("planning", "planned"),
    Phase.LOCK: ("locking", "locked"),
    Phase.IMAGE: ("bringing the image", "image there"),
    Phase.STAGE: ("staging files", "files staged"),
    Phase.PREFLIGHT: ("trying the scheduler once", "preflight passed"),
    Phase.OBJECTS: ("applying objects", "objects are ready"),
    Phase.ARM: ("arming the dead man", "dead man armed"),
    Phase.CANARY: ("starting the canary", "canary ready"),
    Phase.SWITCH: ("switching", "switched"),
    Phase.WATCH: ("waiting for the scheduler", "scheduler proven"),
    Phase.PROBE: ("probing", "probe passed"),
    Phase.PERSIST: ("telling kubeadm", "kubeadm told"),
    Phase.CONFIRM: ("confirming", "confirmed"),
    Phase.FINISH: ("cleaning up", "finished"),
    Phase.RESTORE: ("restoring", "restored"),
}
# Of these people want to know that they have begun; the others are over at once.
_SLOW = frozenset(
    {Phase.PREFLIGHT, Phase.OBJECTS, Phase.SWITCH, Phase.WATCH, Phase.RESTORE, Phase.PROBE}
)
_COLOURS = {State.FAILED: "red", State.DONE: "green", State.SKIPPED: "yellow"}
_NUMBERS = re.compile(r"[0-9.]+")
_ALL_OF_THEM = re.compile(r"(?<![0-9.])([0-9]+) of \1(?![0-9.])")
_NOW_AND_THEN = 5.0
Clock = Callable[[], float]


def told(event: Event) -> str:
    """An event in words; what a node said in it is made harmless."""
    doing, done = WORDS[event.phase]
    text = printable(event.text)
    match event.state:
        case State.DONE:
            words = done
        case State.FAILED:
            words = f"{doing} failed"
        case State.SKIPPED:
            words = f"{doing}: left out"
        case _:
            words = doing
    return f"{words}: {text}" if text else words


class PlainLines:
    """``cp1    3.2 s  switched``"""

    def __init__(
        self, stream: TextIO, paint: Paint, *, verbose: bool = False, clock: Clock = time.monotonic
    ) -> None:
        self._stream, self._paint, self._verbose, self._clock = stream, paint, verbose, clock
        self._start = clock()
        self._lock = threading.Lock()
        self._last: dict[str, tuple[str, float]] = {}

    def __call__(self, event: Event, /) -> None:
        if event.state is State.STARTED and event.phase not in _SLOW and not self._verbose:
            return
        with self._lock:
            text = told(event)
            last, when = self._last.get(event.node, ("", 0.0))
            if text == last:
                return  # a node that waits says the same again and again
            now = self._clock()
            if _only_counts(event, text, last) and now - when < _NOW_AND_THEN:
                return
            self._last[event.node] = (text, now)
            colour = _COLOURS.get(event.state)
            words = self._paint(colour, text) if colour else text
            node = printable(event.node) or "cluster"
            elapsed = now - self._start
            with suppress(OSError, ValueError):
                self._stream.write(f"{node:<8} {elapsed:6.1f} s  {words}\n")
                self._stream.flush()


def _only_counts(event: Event, text: str, last: str) -> bool:
    """The same as before but for its numbers, and not at its end: who has read "0 of 1 pods done"
    waits for the last of them."""
    at_end = event.fraction == 1 or _ALL_OF_THEM.search(text) is not None
    going_on = event.state is State.PROGRESS and not at_end
    return going_on and _NUMBERS.sub("", text) == _NUMBERS.sub("", last)


class JsonLines:
    """One object a line; keys never change their meaning."""

    def __init__(self, stream: TextIO, clock: Clock = time.monotonic) -> None:
        self._stream, self._clock, self._start = stream, clock, clock()
        self._lock = threading.Lock()

    def __call__(self, event: Event, /) -> None:
        body: dict[str, object] = {
            "apiVersion": API_VERSION,
            "kind": "Event",
            "elapsed": round(self._clock() - self._start, 3),
            "node": event.node,
            "phase": str(event.phase),
            "state": str(event.state),
            "text": event.text,
        }
        if event.fraction is not None:
            body["fraction"] = round(event.fraction, 4)
        with self._lock, suppress(OSError, ValueError):
            self._stream.write(json.dumps(body) + "\n")
            self._stream.flush()


@contextmanager
def progress(
    mode: ProgressMode, *, quiet: bool = False, verbose: bool = False
) -> Iterator[Listener]:
    """A listener that shows events on stderr as long as the block runs."""
    stream = sys.stderr
    if mode is ProgressMode.JSON:
        yield JsonLines(stream)
    elif quiet or mode is ProgressMode.NONE:
        yield nobody
    elif mode is ProgressMode.AUTO and not verbose and _can_redraw(stream):
        from kschedpatch.report.liveview import live_view  # noqa: PLC0415  rich takes its time

        with live_view(stream) as listener:
            yield listener
    else:
        yield PlainLines(stream, paint_for(stream), verbose=verbose)


def _can_redraw(stream: TextIO) -> bool:

    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
