"""The simulated time of a sandbox: one thread that runs what is due and answers the stubs.

Everything that changes a simulated node happens in this thread or under its lock, so the parts
need no locks of their own. Times are simulated seconds unless a name says otherwise.
"""

from __future__ import annotations

import heapq
import itertools
import os
import random
import selectors
import threading
import time
import traceback
from collections.abc import Callable

_LONGEST_WAIT = 0.5
_LONGEST_LAG = 1.0


class Timer:
    """Something that is due; ``cancel`` makes nothing of it."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None


class Simulation:
    def __init__(self, speed: int = 10, seed: int = 0) -> None:
        self.speed = speed
        self.lock = threading.RLock()
        self.chance = random.Random(seed)  # noqa: S311 (spreads delays, guards no secret)
        self.failures: list[str] = []
        """Tracebacks of actions that raised: a defect of the sandbox, told at its end."""
        self._began = time.monotonic()
        self._due: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._selector = selectors.DefaultSelector()
        self._wake_out, self._wake_in = os.pipe()
        os.set_blocking(self._wake_in, False)
        self._selector.register(self._wake_out, selectors.EVENT_READ, self._woken)
        self._ended = False
        self._running_due: float | None = None
        self._thread = threading.Thread(target=self._run, name="sandbox", daemon=True)

    def now(self) -> float:
        return (time.monotonic() - self._began) * self.speed

    def moment(self) -> float:
        """The time of what happens just now: inside of an action that is when it was due."""
        inside = threading.current_thread() is self._thread
        due = self._running_due if inside else None
        return self.now() if due is None else due

    def real(self, seconds: float) -> float:
        return seconds / self.speed

    def sleep(self, seconds: float) -> None:
        time.sleep(self.real(seconds))

    def between(self, low: float, high: float) -> float:
        return self.chance.uniform(low, high)

    def later(self, seconds: float, action: Callable[[], None]) -> Timer:
        timer = Timer(action)
        with self.lock:
            soonest = self._due[0][0] if self._due else None
            # Counted from when the running action was due: a busy machine's lags do not add up.
            due = self.moment() + seconds
            heapq.heappush(self._due, (due, next(self._order), timer))
        if soonest is None or due < soonest:
            self.wake()
        return timer

    def every(self, seconds: float, action: Callable[[], None]) -> Callable[[], None]:
        """Runs it again and again; what is returned ends that."""
        current = Timer(lambda: None)
        ended = False

        def again() -> None:
            nonlocal current
            self._running_due = self.now()  # it looks at the world outside, which has no lag
            action()
            if not ended:
                current = self.later(seconds, again)

        def stop() -> None:
            nonlocal ended
            ended = True
            current.cancel()

        current = self.later(seconds, again)
        return stop

    def watch(self, descriptor: int, action: Callable[[], None]) -> None:
        with self.lock:
            self._selector.register(descriptor, selectors.EVENT_READ, action)
        self.wake()

    def unwatch(self, descriptor: int) -> None:
        with self.lock:
            self._selector.unregister(descriptor)

    def wake(self) -> None:
        try:
            os.write(self._wake_in, b".")
        except (BlockingIOError, OSError):
            return  # it is awake, or at its end

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended = True
        self.wake()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(5)
        self._selector.close()
        os.close(self._wake_out)
        os.close(self._wake_in)

    def _woken(self) -> None:
        os.read(self._wake_out, 4096)

    def _run(self) -> None:
        while not self._ended:
            for key, _ in self._selector.select(self._wait()):
                self._guarded(key.data)
            self._run_due()

    def _wait(self) -> float:
        with self.lock:
            if not self._due:
                return _LONGEST_WAIT
            return min(_LONGEST_WAIT, max(0.0, self.real(self._due[0][0] - self.now())))

    def _run_due(self) -> None:
        while not self._ended:
            with self.lock:
                if not self._due or self._due[0][0] > self.now():
                    return
                self._running_due, _, timer = heapq.heappop(self._due)
                # After a long stall (a suspended machine) the past is not made up for.
                self._running_due = max(self._running_due, self.now() - _LONGEST_LAG)
                if timer.action is not None:
                    self._guarded(timer.action)
                self._running_due = None

    def _guarded(self, action: Callable[[], None]) -> None:
        with self.lock:
            try:
                action()
            except Exception:  # noqa: BLE001 (the other nodes go on; the sandbox's end tells it)
                self.failures.append(traceback.format_exc())
