"""The same job on 1, 3, 7 and 50 nodes: the floor, kschedpatch, and what people use instead.

No control plane has fifty nodes: those are ten clusters of five, each changed by a run of its own,
all at once.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.bench.floor import AS_OURS, floor_job
from tests.bench.jobspec import ROOT
from tests.bench.measuring import (
    Settings,
    interleaved,
    medians,
    progress,
    stopwatch,
    table,
    times,
)
from tests.bench.others import others
from tests.bench.ourapply import apply_words, write_patch
from tests.bench.ourjob import do_job
from tests.bench.sshnodes import CAN_SERVE, SshNodes, ssh_nodes

FLOOR = "ssh and a script a node (the floor)"
SAME_KEX = "the same with curve25519, as paramiko"
RUNNING = "our roll-out in a running Python"
PROCESS = "our roll-out as a process"
APPLY = "kschedpatch apply"
OPENSSH = "kschedpatch apply --transport openssh"
AS_ONE = "kschedpatch apply, one over all nodes"
#: More nodes than a control plane has are a fleet of clusters, each of so many.
_LARGEST = 7
_CLUSTER = 5
#: Ours against the floor by the number of nodes; the others against ours at three.
_AT_MOST = {1: "≤ 2.0 × the floor"}
_AT_MOST_ELSE = "≤ 1.6 × the floor"
_SLOWER = {"pyinfra": "≥ 3 × ours", "Ansible with pipelining": "≥ 10 × ours"}

Words = Callable[[Sequence[str]], Sequence[str]]
"""Of a command line, by the names of its nodes."""


def run(settings: Settings) -> None:
    if not CAN_SERVE:
        progress("job: left out, no sshd is installed (openssh-server)")
        return
    sizes = settings.nodes or ((1, 3, 7, 50) if settings.full else (1, 3, 7))
    with ssh_nodes(max(sizes), progress) as nodes:
        for size in sizes:
            _measure(nodes.first(size), settings)


def _measure(nodes: SshNodes, settings: Settings) -> None:
    size = len(nodes.nodes)
    rounds = settings.of(3, 9 if size < 50 else 3)
    found = medians(interleaved(_contestants(nodes), rounds, f"job on {size}"))
    rows = [
        (
            name,
            f"{seconds:.2f} s",
            times(seconds, found[FLOOR]),
            times(seconds, found[APPLY]),
            _target(name, size),
        )
        for name, seconds in found.items()
    ]
    title = f"The job on {size} node{'s' if size > 1 else ''} (medians of {rounds} rounds)"
    print(table(title, ("", "time", "floor", "ours", "target"), rows), flush=True)


def _contestants(nodes: SshNodes) -> dict[str, Callable[[], float]]:
    patch = write_patch(nodes.directory / "patch")

    def process(names: Sequence[str]) -> list[str]:
        return ["tests.bench.ourprocess", str(nodes.ssh_config), *names]

    def apply(names: Sequence[str], *more: str) -> list[str]:
        return ["tests.bench.ourapply", *apply_words(patch, nodes.ssh_config, names), *more]

    def by_openssh(names: Sequence[str]) -> list[str]:
        return apply(names, "--transport", "openssh")

    clusters = _clusters(nodes)
    with_our_manifest: dict[str, Callable[[], float]] = {
        FLOOR: partial(floor_job, nodes),
        SAME_KEX: partial(floor_job, nodes, *AS_OURS),
        RUNNING: partial(_running, nodes, clusters),
        PROCESS: partial(_processes, clusters, process),
        **others(nodes),
    }
    by_our_planner: dict[str, Callable[[], float]] = {
        APPLY: partial(_processes, clusters, apply),
        OPENSSH: partial(_processes, clusters, by_openssh),
    }
    if len(clusters) > 1:
        by_our_planner[AS_ONE] = partial(_processes, [nodes.names], apply)
    made = {
        name: _on_fresh_trees(nodes, name, job, as_planned=name in by_our_planner)
        for name, job in {**with_our_manifest, **by_our_planner}.items()
    }
    ours = (FLOOR, SAME_KEX, RUNNING, PROCESS, APPLY, OPENSSH, AS_ONE)
    return {name: made[name] for name in dict.fromkeys((*ours, *made)) if name in made}


def _target(name: str, size: int) -> str:
    if name in (RUNNING, PROCESS, APPLY):
        return _AT_MOST.get(size, _AT_MOST_ELSE)
    return _SLOWER.get(name, "") if size == 3 else ""


def _on_fresh_trees(
    nodes: SshNodes, name: str, measure: Callable[[], float], *, as_planned: bool
) -> Callable[[], float]:
    def fresh() -> float:
        nodes.plant()
        seconds = measure()
        nodes.check_done(name, as_planned=as_planned)
        return seconds

    return fresh


def _clusters(nodes: SshNodes) -> list[list[str]]:
    size = len(nodes.names) if len(nodes.names) <= _LARGEST else _CLUSTER
    return [nodes.names[at : at + size] for at in range(0, len(nodes.names), size)]


def _running(nodes: SshNodes, clusters: Sequence[Sequence[str]]) -> float:
    with stopwatch() as watch, ThreadPoolExecutor(len(clusters)) as pool:
        list(pool.map(lambda names: do_job(names, nodes.options), clusters))
    return watch.seconds


def _processes(clusters: Sequence[Sequence[str]], words: Words) -> float:
    """One a cluster, all at once."""

    def one(names: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", *words(names)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, check=False)

    with stopwatch() as watch, ThreadPoolExecutor(len(clusters)) as pool:
        ended = list(pool.map(one, clusters))
    for done in ended:
        if done.returncode:
            raise RuntimeError(f"our own job failed: {done.stderr.decode()}")
    return watch.seconds
