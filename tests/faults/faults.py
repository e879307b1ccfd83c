"""The faults. Each is done to the node or the way to it, and most are healed afterwards."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from kschedpatch.node.errors import ConnectionLost
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.sandbox.node import SandboxNode
from tests.faults.operators import Killed, Way
from tests.integration.rollout.rig import SPEED, skip_to_deadline, transaction


class Scene(NamedTuple):
    node: SandboxNode
    """The one that it happens to."""
    way: Way
    cancel: Cancel
    pid: int
    """Of the process that stopped at the boundary; 0 between two calls."""


Heal = Callable[[], None]


def nothing_to_heal() -> None:
    """It is over already."""


def operator_killed(scene: Scene) -> Heal:
    scene.way.kill()
    if not scene.pid:
        raise Killed
    return nothing_to_heal


def asked_to_stop(scene: Scene) -> Heal:
    """SIGINT, SIGTERM or SIGHUP."""
    scene.cancel.ask()
    return nothing_to_heal


def asked_twice(scene: Scene) -> Heal:
    scene.cancel.ask()
    scene.cancel.ask()
    return nothing_to_heal


def connection_reset(scene: Scene) -> Heal:
    scene.way.reset()
    if not scene.pid:
        raise ConnectionLost("the connection was lost: reset by peer")
    return nothing_to_heal


def black_hole(scene: Scene) -> Heal:
    """Nothing passes until the node has ended the run by itself."""
    scene.way.hole = True

    def later() -> None:
        time.sleep(1.2)
        skip_to_deadline(scene.node)
        scene.node.wait(lambda: not transaction(scene.node).exists(), 60)
        scene.way.hole = False

    thread = threading.Thread(target=later, daemon=True)
    thread.start()

    def heal() -> None:
        thread.join()  # or it would bring the next run's deadline near
        scene.way.hole = False

    return heal


def rebooted(scene: Scene) -> Heal:
    scene.node.reboot(2)
    if not scene.pid:
        raise ConnectionLost("the connection was lost: the node went down")
    return nothing_to_heal


def kubelet_restarted(scene: Scene) -> Heal:
    scene.node.restart_kubelet()
    return nothing_to_heal


def disk_full(scene: Scene) -> Heal:
    return scene.node.fill_disk()


def read_only(scene: Scene) -> Heal:
    """For a minute and a half of the node's time: what is switched can't be taken back so long, and
    the operator tries again and again."""
    scene.node.read_only(True)
    heal = threading.Timer(90 / SPEED, scene.node.read_only, (False,))
    heal.daemon = True
    heal.start()
    return heal.join


def clock_forward(scene: Scene) -> Heal:
    scene.node.set_clock(86_400 * 30)
    return lambda: scene.node.set_clock(0)


def clock_back(scene: Scene) -> Heal:
    scene.node.set_clock(-86_400 * 30)
    return lambda: scene.node.set_clock(0)


def process_killed(scene: Scene) -> Heal:
    """What works on the node at this boundary: a verb, or the dead man himself (kill -9)."""
    if scene.pid:
        session = os.getsid(scene.pid)
        for name in os.listdir("/proc"):  # noqa: PTH208 (many entries)
            with suppress(OSError, ValueError):
                if os.getsid(int(name)) == session:
                    os.kill(int(name), signal.SIGKILL)
    return nothing_to_heal


class Fault(NamedTuple):
    name: str
    strike: Callable[[Scene], Heal]
    needs_disks: bool = False
    between_calls: bool = True
    """False: it can only happen to a process on the node."""
    ends_pods: bool = False
    """The scheduler's process ends by the fault itself."""


FAULTS = (
    Fault("operator killed", operator_killed),
    Fault("SIGINT, SIGTERM, SIGHUP", asked_to_stop),
    Fault("SIGINT twice", asked_twice),
    Fault("connection reset", connection_reset),
    Fault("black hole", black_hole),
    Fault("node rebooted", rebooted, ends_pods=True),
    Fault("kubelet restarted", kubelet_restarted),
    Fault("disk full", disk_full, needs_disks=True),
    Fault("read-only file system", read_only, needs_disks=True),
    Fault("clock forward", clock_forward),
    Fault("clock back", clock_back),
    Fault("process on the node killed", process_killed, between_calls=False),
)
