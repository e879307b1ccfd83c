"""Faults at every boundary of a run on a real node: the operator killed, the network cut, the node
rebooted. The node ends with the old manifest or the new one, byte for byte, and works."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from kschedpatch.core.fleet.rollbacks import Wanted, judge_target, wanted_of
from kschedpatch.model import exitcodes
from kschedpatch.node.agent import Agent
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.rollback import roll_back
from kschedpatch.rollout.run import Run
from tests.forced.manifests import flag
from tests.forced.runs import change_of

from .cluster.cluster import Cluster
from .cluster.console import say, wait_until
from .cluster.node import SCHEDULER_MANIFEST, Node
from .fleets import SETTINGS, fleet_of
from .tool import traces

_EXTENT = 20
_QUICK = SETTINGS._replace(confirm_timeout=_EXTENT, settle=2)
_CALLS = 40
"""More than a run has: the countdown must end by a run that passes clean."""


FAULTS = ("black hole", "kill -9", "reboot")


class Countdown:
    """Calls ``fault`` at the nth boundary: before and after each call of the node half."""

    def __init__(self, at: int, fault: Callable[[], None]) -> None:
        self.left = at
        self.fault = fault
        self.where = ""

    def pass_by(self, where: str) -> None:
        self.left -= 1
        if self.left == 0:
            self.where = where
            self.fault()

    def install(self, agent: Agent) -> None:
        call = agent._session.call

        def counted(verb: str, *rest: Any, **more: Any) -> Any:
            # The heartbeat has its own rhythm: counting it would make boundaries wander.
            if verb == "renew":
                return call(verb, *rest, **more)
            self.pass_by(f"before {verb}")
            reply = call(verb, *rest, **more)
            self.pass_by(f"after {verb}")
            return reply

        agent._session.call = counted  # type: ignore[method-assign]


def operate(cluster: Cluster, node: Node, run: str, countdown: Countdown) -> int:
    """One run, as an operator's process has it; returns its exit code."""
    with fleet_of(cluster, node.name, connect_timeout=5) as fleet:
        facts = fleet.look()
        assert facts
        assert facts[0].manifest is not None
        change = change_of(facts[0], flag("--v=3")(facts[0].manifest.content.decode()), canary=True)
        countdown.install(fleet.members[0].agent)
        return Run(run, "apply", fleet, [change], _QUICK, Cancel()).execute().exit_code


def _killed(cluster: Cluster, node: Node, run: str, at: int) -> int | None:
    """In a process of its own, which dies at the boundary."""

    def child() -> None:
        countdown = Countdown(at, lambda: os.kill(os.getpid(), signal.SIGKILL))
        os._exit(operate(cluster, node, run, countdown))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(180)
    return process.exitcode


def _survived(cluster: Cluster, node: Node, run: str, at: int, fault: str) -> tuple[int, Countdown]:
    end_of_the_hole = threading.Thread(target=_show_when_it_is_over, args=(node,), daemon=True)

    def strike() -> None:
        if fault == "reboot":
            node.power_off()
            node.boot()
        else:
            # Not the whole network of the node: its API server would go with etcd's majority, and
            # come back minutes after it.
            node.hide_from_host()
            end_of_the_hole.start()

    countdown = Countdown(at, strike)
    try:
        return operate(cluster, node, run, countdown), countdown
    finally:
        if end_of_the_hole.ident:
            end_of_the_hole.join()  # or it would end the next one


def _show_when_it_is_over(node: Node) -> None:
    """Longer than the operator has patience with one call, and until the node has helped itself."""
    time.sleep(35)
    wait_until("the node's own end of the run", lambda: not _under_way(node), 120, 1)
    node.show_to_host()


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS)
def test_every_boundary(cluster: Cluster, fault: str) -> None:
    standbys = [n for n in cluster.nodes if n.name != cluster.lease_holder()]
    # Not always the same one: what the kubelet remembers of a pod adds up.
    node = standbys[FAULTS.index(fault) % len(standbys)]
    old = node.read(SCHEDULER_MANIFEST)
    new = flag("--v=3")(old.decode()).encode()
    injections = 0
    for at in range(1, _CALLS):
        run = f"20200101-0000{at:02d}-{len(fault):04x}"
        if fault == "kill -9":
            code = _killed(cluster, node, run, at)
            clean = code == exitcodes.OK
        else:
            code, countdown = _survived(cluster, node, run, at, fault)
            clean = countdown.left > 0
        _ends_well(node, old, new, code=code)
        say(f"{fault} at boundary {at}: survived (exit code {code})")
        _back(cluster, node, old)
        if clean:
            break
        injections += 1
    else:
        pytest.fail(f"no clean run within {_CALLS} boundaries")
    say(f"{fault}: {injections} injections, {injections} survivals")
    assert injections >= 8


def _ends_well(node: Node, old: bytes, new: bytes, *, code: int | None) -> None:
    wait_until("the node", lambda: node.run("true", check=False).returncode == 0, 120)
    wait_until("an end of the run", lambda: not _under_way(node), _EXTENT + 60, 1)
    manifest = node.read(SCHEDULER_MANIFEST)
    assert manifest in (old, new)
    if code == exitcodes.OK:
        assert manifest == new
    elif code in (exitcodes.REFUSED, exitcodes.ROLLED_BACK):
        assert manifest == old
    wait_until("the canary's end", lambda: not node.containers("kschedpatch-canary"), 60, 0.5)
    wait_until("a ready scheduler", node.scheduler_ready, 120, 0.5)
    time.sleep(1)
    assert node.scheduler_ready()


def _under_way(node: Node) -> bool:
    """A lock that nobody renews is nobody's: the next run takes it over after its time."""
    left = traces(node)
    if left == ["/var/lib/kschedpatch/txn"]:
        deadline = node.output("cat /var/lib/kschedpatch/txn/deadline 2>/dev/null || echo 0")
        return float(node.output("cut -d' ' -f1 /proc/uptime")) < float(deadline or 0)
    return bool(left)


def _back(cluster: Cluster, node: Node, old: bytes) -> None:
    """A run that follows works, whatever the one before has left."""
    if node.read(SCHEDULER_MANIFEST) == old:
        return
    wait_until("ssh", lambda: node.ssh("true").returncode == 0, 60)
    with fleet_of(cluster, node.name) as fleet:
        [facts] = fleet.look()
        wanted = wanted_of(facts, None)
        assert isinstance(wanted, Wanted)
        kept = fleet.kept(node.name, wanted.run)
        fetched = kept.before if wanted.side == "before" else kept.after
        target = judge_target(facts, wanted, fetched).target
        assert target is not None
        assert roll_back(fleet, [target], _QUICK, Cancel()).exit_code == exitcodes.OK
    assert node.read(SCHEDULER_MANIFEST) == old
