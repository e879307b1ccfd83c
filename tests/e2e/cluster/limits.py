"""Kernel limits that the nodes share with this machine, raised for the time of a run."""

from __future__ import annotations

from pathlib import Path

from .console import say
from .settings import STATE

_INSTANCES = Path("/proc/sys/fs/inotify/max_user_instances")
# All nodes' root is this machine's root. Three nodes take 90 of the usual 128, and a kubelet
# that gets none more does not see its manifests change.
_WANTED = 512
_RECORD = STATE / "inotify-instances"


def raise_limits() -> None:
    before = int(_INSTANCES.read_text())
    if before >= _WANTED:
        return
    try:
        _INSTANCES.write_text(str(_WANTED))
    except OSError as error:
        say(f"can't raise {_INSTANCES} from {before}: {error}")
    else:
        _RECORD.write_text(str(before))


def restore_limits() -> None:
    if _RECORD.exists():
        _INSTANCES.write_text(_RECORD.read_text())
