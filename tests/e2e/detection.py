"""`make detection`: from the moment that the scheduler is ready, or has crashed, until kschedpatch
knows, on the cluster of `make cluster-up`.

Both moments are looked at from outside: readiness by asking on the node's loopback fifty times a
second, a crash by the time of its last words in the pod's log (node and operator share a clock
here). Nothing here fails on a time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.rollout import RolloutResult
from tests.e2e.cluster.cluster import Cluster, attach
from tests.e2e.cluster.console import RigError, say
from tests.e2e.cluster.loopback import LoopbackProbe
from tests.e2e.cluster.node import SCHEDULER_MANIFEST, SCHEDULER_PORT, Node
from tests.e2e.cluster.settings import why_not_here
from tests.e2e.fleets import SETTINGS, forced
from tests.forced.manifests import flag

TARGET = 0.5
_LOOK = 0.02


class Looking:
    """When the scheduler of a node was ready again, after it had not been."""

    def __init__(self, cluster: Cluster, node: Node) -> None:
        self.ready_since = 0.0
        self._node = node
        self._kubeconfig = cluster.kubeconfig
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        probe = LoopbackProbe(self._node, SCHEDULER_PORT, self._kubeconfig)
        was_ready = True
        while not self._end.wait(_LOOK):
            ready = probe.ready()
            if ready and not was_ready:
                self.ready_since = time.time()
            was_ready = ready
        probe.close()

    def end(self) -> None:
        self._end.set()
        self._thread.join(10)


class Told(NamedTuple):
    moment: float
    """When the tool was told of it."""
    result: RolloutResult


def told(cluster: Cluster, node: Node, line: str, run: str, sign: Callable[[Event], bool]) -> Told:
    found: list[float] = []

    def listener(event: Event) -> None:
        if event.phase is Phase.WATCH and sign(event):
            found.append(time.time())

    settings = SETTINGS._replace(settle=1)
    result = forced(cluster, flag(line), node.name, settings=settings, run=run, listener=listener)
    return Told(found[0], result)


def ready(cluster: Cluster, node: Node, number: int) -> float:
    looking = Looking(cluster, node)
    run = f"20200104-0000{number:02}-0000"
    known = told(cluster, node, f"--v={number % 4 + 2}", run, lambda event: event.text == "ready")
    looking.end()
    assert known.result.exit_code == exitcodes.OK, known.result
    return known.moment - looking.ready_since


def crashed(cluster: Cluster, node: Node, number: int) -> float:
    run = f"20200105-0000{number:02}-0000"
    known = told(cluster, node, "--bogus=1", run, lambda event: event.state is State.FAILED)
    assert known.result.exit_code == exitcodes.ROLLED_BACK, known.result
    assert known.result.failure is not None
    last = next(line for line in known.result.failure.log if "unknown flag" in line)
    return known.moment - datetime.fromisoformat(last[:26] + "+00:00").timestamp()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.detection", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    reason = why_not_here()
    if reason:
        sys.stderr.write(f"{reason}\n")
        return 2
    try:
        cluster = attach()
    except RigError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    node = [n for n in cluster.nodes if n.name != cluster.lease_holder()][-1]
    original = node.read(SCHEDULER_MANIFEST)
    rows: dict[str, list[float]] = {"ready": [], "crashed": []}
    try:
        for number in range(rounds):
            for name, measure in (("ready", ready), ("crashed", crashed)):
                rows[name].append(measure(cluster, node, number))
                say(f"round {number + 1}: {name}, known after {rows[name][-1]:.2f} s")
    finally:
        node.put_manifest(original)
    out = [f"seconds until the tool knows, {rounds} rounds (target ≤ {TARGET})"]
    for name, values in rows.items():
        shown = f"median {statistics.median(values):5.2f}   longest {max(values):5.2f}"
        out.append(f"  {name:10} {shown}")
    sys.stdout.write("\n".join(out) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
