"""How fast large files go to a node, against ``scp`` to the same sshd: an image archive by the verb
``upload``, a binary by ``stage``, in a Python that runs already.

scp checks nothing and leaves the file to the page cache; both verbs hash what has arrived, and
``stage`` brings it to the disk.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from kschedpatch.core.fleet.runids import new_run_id
from kschedpatch.core.generation import make_generation
from kschedpatch.model.images import ImageArchive
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.model.plan import StagedFile
from kschedpatch.model.sources import SourceFile
from kschedpatch.node import verbs
from kschedpatch.node.agent import Agent
from kschedpatch.node.become import Become
from kschedpatch.node.images import upload
from kschedpatch.rollout.fleet import open_fleet
from tests.bench.floor import AS_OURS
from tests.bench.jobspec import AFTER
from tests.bench.measuring import Settings, interleaved, medians, progress, stopwatch, table, times
from tests.bench.sshnodes import CAN_SERVE, SshNodes, ssh_nodes

SCP = "scp (the floor)"
SAME_KEX = "scp with curve25519, as paramiko"
_MIB = 1024 * 1024


def run(settings: Settings) -> None:
    if not CAN_SERVE:
        progress("uploads: left out, no sshd is installed (openssh-server)")
        return
    size = (200 if settings.full else 64) * _MIB
    with ssh_nodes(1, progress) as nodes:
        file = _random_file(nodes.directory / "large", size)
        ways: dict[str, Callable[[SshNodes, SourceFile], float]] = {
            SCP: _scp,
            SAME_KEX: partial(_scp, options=AS_OURS),
            "an image archive (upload)": _by_agent(_upload),
            "a binary (stage)": _by_agent(_stage),
        }
        contestants = {
            name: partial(_mib_a_second, nodes, file, measure) for name, measure in ways.items()
        }
        rounds = settings.of(3, 7)
        found = medians(interleaved(contestants, rounds, f"{size // _MIB} MiB"))
    rows = [
        (
            name,
            f"{speed:.0f} MiB/s",
            times(speed, found[SCP]),
            "" if name in (SCP, SAME_KEX) else "≥ 0.9 × the floor",
        )
        for name, speed in found.items()
    ]
    title = f"Uploads of {size // _MIB} MiB to one node (medians of {rounds} rounds)"
    print(table(title, ("", "speed", "floor", "target"), rows), flush=True)


def _random_file(path: Path, size: int) -> SourceFile:
    """Nothing that could be compressed; it stays in the page cache."""
    digest = hashlib.sha256()
    with path.open("wb") as out:
        for _ in range(size // _MIB):
            chunk = os.urandom(_MIB)
            digest.update(chunk)
            out.write(chunk)
    return SourceFile(path.name, str(path), digest.hexdigest(), size)


def _mib_a_second(
    nodes: SshNodes, file: SourceFile, measure: Callable[[SshNodes, SourceFile], float]
) -> float:
    nodes.clear_away()
    nodes.plant()
    return file.size / _MIB / measure(nodes, file)


def _scp(nodes: SshNodes, file: SourceFile, options: Sequence[str] = ()) -> float:
    (node,) = nodes.nodes
    command = ["scp", "-q", "-F", str(nodes.ssh_config), *options, file.location]
    with stopwatch() as watch:
        subprocess.run([*command, f"{node.name}:{node.root}/var/large"], check=True)
    return watch.seconds


def _by_agent(
    send: Callable[[Agent, str, SourceFile], None],
) -> Callable[[SshNodes, SourceFile], float]:
    """scp logs in as part of its work, and so do these; the lock before it is not measured."""

    def measure(nodes: SshNodes, file: SourceFile) -> float:
        addresses = [NodeAddress(name, label=name) for name in nodes.names]
        run_id = new_run_id(time.time(), secrets.randbits(16))
        with open_fleet(addresses, nodes.options, Become()) as fleet:
            fleet.members[0].agent.lock(run_id, "apply", "bench", 900)
        with stopwatch() as watch, open_fleet(addresses, nodes.options, Become()) as fleet:
            send(fleet.members[0].agent, run_id, file)
        return watch.seconds

    return measure


def _upload(agent: Agent, run_id: str, file: SourceFile) -> None:
    upload(agent, run_id, ImageArchive(file, "bench:1", "", ()), 0, lambda _sent, _size: None)


def _stage(agent: Agent, run_id: str, file: SourceFile) -> None:
    generation = make_generation([StagedFile("kube-scheduler", 0o755, file)])
    agent.do(verbs.stage(run_id, AFTER.decode(), "# a benchmark\n", generation))
