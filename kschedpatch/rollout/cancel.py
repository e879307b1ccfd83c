"""Ctrl-C: the first asks for an orderly way back, the second leaves it to the nodes.

A token that the workers look at, never an exception in the middle of a step.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SLICE = 0.1


class Cancelled(Exception):
    """The operator asked to stop: restore, and say so."""


class Abandoned(Exception):
    """The operator asked twice: what is switched is left to the dead man."""


class Cancel:
    def __init__(self) -> None:
        self._times = 0
        self._asked = threading.Event()

    def ask(self) -> None:
        self._times += 1
        self._asked.set()

    @property
    def requested(self) -> bool:
        return self._times > 0

    @property
    def hard(self) -> bool:
        return self._times > 1

    def check(self) -> None:
        if self.hard:
            raise Abandoned
        if self.requested:
            raise Cancelled

    def wait(self, seconds: float) -> bool:
        """At most so long; True where a stop was asked for."""
        return self._asked.wait(seconds)

    def run(self, work: Callable[[], T], *, to_its_end: bool = False) -> T:
        """The work's result. Where it may be left alone, a request to stop is obeyed at once; what
        has begun ``to_its_end`` is waited for, and only a second request leaves it."""
        pool = ThreadPoolExecutor(1)
        try:
            future = pool.submit(work)
            while True:
                if self.hard:
                    raise Abandoned
                if self.requested and not to_its_end:
                    raise Cancelled
                try:
                    return future.result(_SLICE)
                except NotYet:
                    if future.done():
                        # In that very moment; or the work itself says that its time is over.
                        return future.result()
        finally:
            pool.shutdown(wait=False)

    @contextmanager
    def by_signals(self) -> Iterator[None]:
        """SIGINT, SIGTERM and SIGHUP mean the same; only the main thread can take them."""

        def handler(_number: int, _frame: FrameType | None) -> None:
            self.ask()

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {number: signal.signal(number, handler) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, old in former.items():
                signal.signal(number, old)
