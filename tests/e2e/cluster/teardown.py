"""Takes everything of the rig off this machine, whatever state a run left it in.

Nothing here relies on a record: processes are found by their control group,
the rest by the fixed names of `settings`.
"""

from __future__ import annotations

import json
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import cgroups, network
from .console import RigError, run, say, wait_until
from .limits import restore_limits
from .settings import MACHINE_PREFIX, STATE

_NSPAWN = Path("/run/systemd/nspawn")


def take_down() -> None:
    started = time.monotonic()
    if not leftovers():
        return
    cgroups.remove()
    for device in loop_devices():
        run(["losetup", "--detach", device], check=False)
    for mount in reversed(mounts()):
        run(["umount", "--lazy", mount], check=False)
    network.remove_bridge()
    restore_limits()
    for path in _nspawn_files():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    _remove_state()
    remaining = leftovers()
    if remaining:
        raise RigError("left behind: " + "; ".join(remaining))
    say(f"taken down in {time.monotonic() - started:.1f} s")


def _remove_state(patience: float = 60) -> None:
    def removed() -> bool:
        # rm, not shutil: it is three times as fast on the nodes' trees.
        run(["rm", "-rf", "--one-file-system", str(STATE)], timeout=300)
        return not STATE.exists()

    # Again and again: a killed run's `cp` may still be at work there.
    wait_until(f"the end of {STATE}", removed, patience)


def leftovers() -> list[str]:
    """What is there of the rig, in words; empty after a complete teardown."""
    found = [f"process {pid}" for pid in sorted(cgroups.processes())]
    found += [f"control group {group}" for group in cgroups.leftovers()]
    found += [f"mount {mount}" for mount in mounts()]
    found += [f"loop device {device}" for device in loop_devices()]
    found += [f"link {link}" for link in network.links()]
    found += ["bridge"] if network.bridge_exists() else []
    found += [f"file {path}" for path in _nspawn_files()]
    found += [f"directory {STATE}"] if STATE.exists() else []
    return found


def mounts() -> list[str]:
    points = (line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return [point for point in points if point == str(STATE) or point.startswith(f"{STATE}/")]


def loop_devices() -> list[str]:
    if shutil.which("losetup") is None:
        return []
    listed = run(["losetup", "--list", "--json"], check=False).stdout
    devices = json.loads(listed)["loopdevices"] if listed.strip() else []
    return [
        device["name"] for device in devices if str(device["back-file"]).startswith(f"{STATE}/")
    ]


def _nspawn_files() -> list[Path]:
    return [
        path
        for part in ("propagate", "locks", "unix-export")
        for path in (_NSPAWN / part).glob(f"*{MACHINE_PREFIX}*")
    ]


@contextmanager
def exclusive(timeout: float = 90) -> Iterator[None]:
    """One run at a time on this machine. The name vanishes with its owner, however that ends."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as name:
        deadline = time.monotonic() + timeout
        told = False
        while True:
            try:
                name.bind("\0kschedpatch-e2e")
            except OSError as error:
                if time.monotonic() > deadline:
                    raise RigError(
                        "another run of the e2e rig is at work on this machine"
                    ) from error
                if not told:
                    say("waiting for another run of the e2e rig to end")
                    told = True
                time.sleep(0.5)
            else:
                break
        yield
