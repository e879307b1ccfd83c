"""A control group per machine of the rig, in every hierarchy.

Each machine sees its own group as the root, so that nodes don't share
groups; and the group's name is how leftovers of a killed run are found.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from .console import RigError
from .settings import CGROUP


def create(machine: str) -> list[Path]:
    """Make the machine's groups; a process enters by its id in their `cgroup.procs`."""
    # A real machine boots with none: the kubelet would spend 3 s on each group of a container
    # that no longer exists.
    for top in leftovers():
        _remove_tree(top / machine, time.monotonic() + 10)
    groups = []
    own = _own_groups()
    for mount, kind, options in _hierarchies():
        parent = (
            mount
            if kind == "cgroup2" and mount == Path("/sys/fs/cgroup")
            else mount / own.get(options, "")
        )
        group = parent / CGROUP / machine
        group.mkdir(parents=True, exist_ok=True)
        if "cpuset" in options.split(","):
            # A new v1 cpuset is empty, and no process may enter it so.
            for level in (group.parent, group):
                for name in ("cpuset.cpus", "cpuset.mems"):
                    (level / name).write_text((level.parent / name).read_text())
        elif kind == "cgroup2":
            _enable_controllers(group.parent.parent)
            _enable_controllers(group.parent)
        groups.append(group)
    return groups


def _enable_controllers(group: Path) -> None:
    wanted = (group / "cgroup.controllers").read_text().split()
    if wanted:
        (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in wanted))


def _hierarchies() -> list[tuple[Path, str, str]]:
    """Mount point, type, and for v1 the controllers (as /proc/self/cgroup names them)."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, tail = line.partition(" - ")
        kind, _, options = tail.split(" ", 2)
        if kind not in ("cgroup", "cgroup2"):
            continue
        controllers = [
            o for o in options.split(",") if o not in ("rw", "ro", "xattr", "nsdelegate")
        ]
        names = ",".join(
            o for o in controllers if not o.startswith(("release_agent", "clone_children"))
        )
        found.append((Path(fields.split(" ")[4]), kind, names if kind == "cgroup" else ""))
    return found


def _own_groups() -> dict[str, str]:
    groups = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        # A group of the rig's own is no parent for another one: a test that
        # runs in a machine's group would nest them.
        groups[controllers] = path.split(f"/{CGROUP}")[0].lstrip("/")
    return groups


def leftovers() -> list[Path]:
    """Every group of the rig, whichever run made it."""
    found = []
    for mount, _, _ in _hierarchies():
        for directory, names, _ in os.walk(mount):
            if CGROUP in names:
                found.append(Path(directory) / CGROUP)
                names.remove(CGROUP)
    return found


def processes() -> set[int]:
    pids: set[int] = set()
    for top in leftovers():
        for directory, _, _ in os.walk(top):
            try:
                pids |= {int(pid) for pid in (Path(directory) / "cgroup.procs").read_text().split()}
            except OSError:
                continue  # a group that went away meanwhile has no processes
    return pids - {os.getpid()}


def remove(timeout: float = 20) -> None:
    """End whatever runs in the rig's groups, then remove them."""
    deadline = time.monotonic() + timeout
    while pids := processes():
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if time.monotonic() > deadline:
            raise RigError(f"processes of the rig that don't end: {sorted(pids)}")
        time.sleep(0.1)
    for top in leftovers():
        _remove_tree(top, deadline)


def _remove_tree(top: Path, deadline: float) -> None:
    for directory, _, _ in os.walk(top, topdown=False):
        while True:
            try:
                Path(directory).rmdir()
            except FileNotFoundError:
                break
            except OSError:
                # Busy for a moment after its last process ended.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                break
