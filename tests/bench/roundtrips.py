"""How many round trips a whole ``apply`` takes: its time against the length of the way to the node.

The node is a sandbox's, with its simulated kubelet, behind OpenSSH's sshd and a proxy that makes
the way longer. The slope of the line is the number of round trips. Waits for the kubelet make it
noisy; so the proxy also counts how often the client spoke after it had heard something.

The connection over which the run is confirmed is made while the probe is on its way. What it costs
is what it is waited for: from the end of the probe to the end of the confirm.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kschedpatch.sandbox.sandbox import Sandbox
from tests.bench.costs import command_cost
from tests.bench.delayproxy import DelayProxy
from tests.bench.measuring import Settings, interleaved, line_through, progress, table
from tests.bench.sshnodes import CAN_SERVE
from tests.integration.sshd import Sshd, make_key

ROUND_TRIPS = (0.0, 0.02, 0.1)
_PATCH = """apiVersion: kschedpatch.io/v1
kind: SchedulerPatch
metadata: {{name: bench}}
spec:
  scheduler: {{args: {{v: "{v}"}}}}
  config: {{inline: {{profiles: [{{schedulerName: default-scheduler}}]}}}}
"""


class Seen(NamedTuple):
    seconds: float
    first_turns: int
    fresh_turns: int
    fresh_seconds: float
    """That it was waited for."""


class Way:
    """A sandbox node, and the proxy before it."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._directory = directory
        sandbox = stack.enter_context(Sandbox(directory / "nodes", nodes=1, speed=10))
        (node,) = sandbox.nodes
        self._key = make_key(directory / "client")
        server = stack.enter_context(
            Sshd(directory / "sshd", client_key=self._key, environment=node.environment())
        )
        self.proxy = stack.enter_context(DelayProxy((server.address, server.port)))
        self._user = server.user
        self._known_hosts = directory / "known_hosts"
        host_key = server.known_hosts_line().split(maxsplit=1)[1]
        self._known_hosts.write_text(f"[127.0.0.1]:{self.proxy.port} {host_key}")
        (directory / "ssh_config").write_text("IdentityFile none\nIdentityAgent none\n")
        self._v = 0

    def apply(self, round_trip: float) -> Seen:
        """Another patch than the last one's, so that there is something to do."""
        self._v = self._v % 9 + 1
        patch = self._directory / "patch.yaml"
        patch.write_text(_PATCH.format(v=self._v))
        self.proxy.round_trip = round_trip
        before = len(self.proxy.connections)
        cost = command_cost(
            [
                *("apply", "-f", str(patch), "--yes", "--settle", "1", "--confirm-timeout", "900"),
                *("--identity", str(self._key), "--known-hosts", str(self._known_hosts)),
                *("--ssh-config", str(self._directory / "ssh_config"), "--progress", "json"),
                f"{self._user}@127.0.0.1:{self.proxy.port}",
            ]
        )
        if cost.code:
            raise RuntimeError(f"apply ended with {cost.code}: {cost.said}")
        first, *others = self.proxy.connections[before:]
        waited = _confirming(cost.said)
        return Seen(cost.seconds, first.turns, sum(o.turns for o in others), waited)


def _confirming(said: str) -> float:
    """By the events of the run."""
    lines = (line for line in said.splitlines() if line.startswith("{"))
    events = [event for event in map(json.loads, lines) if event.get("state") == "done"]
    at = {event["phase"]: event["elapsed"] for event in events}
    return float(at["confirm"] - at["probe"])


def run(settings: Settings) -> None:
    if not CAN_SERVE or sys.platform != "linux":
        progress("roundtrips: left out, an sshd and Linux are needed")
        return
    rounds = settings.of(3, 9)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kspb-")))
        way = Way(directory, stack)
        contestants = {
            f"{length * 1000:.0f} ms": partial(way.apply, length) for length in ROUND_TRIPS
        }
        found = interleaved(contestants, rounds, "apply over a round trip of")
    _tell(dict(zip(ROUND_TRIPS, found.values(), strict=True)), rounds)


def _tell(found: dict[float, list[Seen]], rounds: int) -> None:
    points = [(length, seen) for length, all_seen in found.items() for seen in all_seen]
    whole = line_through([(length, seen.seconds) for length, seen in points]).slope
    fresh = line_through([(length, seen.fresh_seconds) for length, seen in points]).slope
    rows = [
        (
            f"apply, {length * 1000:.0f} ms",
            f"{statistics.median(s.seconds for s in seen):.2f} s",
            f"{statistics.median(s.first_turns for s in seen):.0f}",
            f"{statistics.median(s.fresh_turns for s in seen):.0f}",
            "",
        )
        for length, seen in found.items()
    ]
    rows.append(
        ("round trips by the slope", "", f"{whole - fresh:.1f}", f"{fresh:.1f}", "≤ 18, 1st")
    )
    title = f"Round trips of an apply on one node (medians of {rounds} rounds)"
    head = ("", "time", "1st connection", "fresh one", "target")
    note = "Counted in the lines above: turns at the proxy, some of which nobody waits for."
    print(table(title, head, rows, note), flush=True)
