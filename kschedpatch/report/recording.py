"""Keeps what happens during a run, with its times, for whoever tells of it afterwards."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kschedpatch.model.events import Event, Listener, State

MAX_MOMENTS = 20_000
"""A run of hours says the same again and again; a page could not show more."""
_NUMBERS = re.compile(r"[0-9.]+")


class Moment(NamedTuple):
    seconds: float
    """Since the beginning, without the time in which nobody listened."""
    event: Event


class Recorder:
    """Listens beside another listener, in any thread.

    Time counts only while it listens: between planning and roll-out a person is asked, and how
    long he thinks about it is no part of a time line.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._moments: list[Moment] = []
        self._last: dict[str, int] = {}
        self._pauses: list[float] = []
        self._before = 0.0
        self._since: float | None = None

    @contextmanager
    def beside(self, listener: Listener) -> Iterator[Listener]:
        with self._lock:
            if self._since is None and (self._moments or self._before):
                self._pauses.append(self._before)
            self._since = self._clock()

        def both(event: Event, /) -> None:
            self._keep(event)
            listener(event)

        try:
            yield both
        finally:
            with self._lock:
                self._before = self._now()
                self._since = None

    def _now(self) -> float:
        return self._before + (0.0 if self._since is None else self._clock() - self._since)

    def _keep(self, event: Event) -> None:
        with self._lock:
            if self._since is None:
                return  # a thread that was left alone has come to its end
            at = self._last.get(event.node)
            if at is not None and _counts_on(self._moments[at].event, event):
                self._moments[at] = Moment(self._moments[at].seconds, event)
                return
            if len(self._moments) >= MAX_MOMENTS:
                return
            self._last[event.node] = len(self._moments)
            self._moments.append(Moment(self._now(), event))

    @property
    def moments(self) -> tuple[Moment, ...]:
        with self._lock:
            return tuple(self._moments)

    @property
    def pauses(self) -> tuple[float, ...]:
        """When it stopped to listen for a while."""
        with self._lock:
            return tuple(self._pauses)

    @property
    def seconds(self) -> float:
        with self._lock:
            return self._now()


def _counts_on(former: Event, event: Event) -> bool:
    """The same again but for its numbers: an upload, a wait."""
    return (
        former.state is event.state is State.PROGRESS
        and former.phase is event.phase
        and _NUMBERS.sub("", former.text) == _NUMBERS.sub("", event.text)
    )
