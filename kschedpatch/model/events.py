"""What happens during a roll-out, told as it happens. Reports subscribe, nothing is decided."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol


class Phase(StrEnum):
    CONNECT = "connect"
    FACTS = "facts"
    INSPECT = "inspect"
    RIGHTS = "rights"
    PLAN = "plan"
    LOCK = "lock"
    IMAGE = "image"
    """The planned image comes to the node."""
    STAGE = "stage"
    PREFLIGHT = "preflight"
    OBJECTS = "objects"
    ARM = "arm"
    CANARY = "canary"
    SWITCH = "switch"
    WATCH = "watch"
    PROBE = "probe"
    PERSIST = "persist"
    """kubeadm is given what its next rendering needs."""
    CONFIRM = "confirm"
    FINISH = "finish"
    RESTORE = "restore"


class State(StrEnum):
    STARTED = "started"
    PROGRESS = "progress"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class Event(NamedTuple):
    phase: Phase
    state: State
    node: str = ""
    """The label of the node; empty for what concerns the cluster."""
    text: str = ""
    fraction: float | None = None
    """Of something that is sent: how much of it has gone, 0 to 1."""


class Listener(Protocol):
    def __call__(self, event: Event, /) -> None: ...


def nobody(_event: Event) -> None:
    """A listener for those who do not want to hear anything."""
