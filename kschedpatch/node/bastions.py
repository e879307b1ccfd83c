"""One connection to each bastion, whatever the number of nodes behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import NamedTuple

from kschedpatch.node.sshlibrary import paramiko


class Link(NamedTuple):
    """A connection that is ready for use, and what to do when it is no longer needed."""

    client: paramiko.Transport
    release: Callable[[], None]


class _Shared:
    def __init__(self) -> None:
        # Held while it is opened: the others wait for the same one. Re-entrant for a configuration
        # that jumps in a circle: that ends by its length, not in a dead lock.
        self.lock = threading.RLock()
        self.link: Link | None = None
        self.users = 0

    def give_back(self) -> None:
        with self.lock:
            self.users -= 1
            link = self.link if self.users == 0 else None
            if link is not None:
                self.link = None
        if link is not None:
            link.release()


class Bastions:
    def __init__(self) -> None:
        self._shared: dict[Hashable, _Shared] = {}
        self._lock = threading.Lock()

    def borrow(
        self,
        key: Hashable,
        opened: Callable[[], Link],
        *,
        not_this: paramiko.Transport | None = None,
    ) -> Link:
        """The bastion's connection; opened if there is none, or if it is dead or ``not_this`` (one
        that was found not to answer any more). Give it back by its ``release``."""
        while True:
            with self._lock:
                shared = self._shared.setdefault(key, _Shared())
            with shared.lock:
                if self._is_out_of_date(key, shared, not_this):
                    continue
                if shared.link is None:
                    shared.link = opened()
                shared.users += 1
                return Link(shared.link.client, _once(shared.give_back))

    def _is_out_of_date(
        self, key: Hashable, shared: _Shared, not_this: paramiko.Transport | None
    ) -> bool:
        """Those who still use a dead connection keep it; the last of them closes it."""
        link = shared.link
        with self._lock:
            if self._shared.get(key) is not shared:
                return True
            if link is not None and (not link.client.is_active() or link.client is not_this):
                del self._shared[key]
                return True
        return False


def _once(action: Callable[[], None]) -> Callable[[], None]:
    done = threading.Lock()

    def act() -> None:
        if done.acquire(blocking=False):
            action()

    return act
