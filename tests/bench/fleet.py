"""``plan`` and ``status`` over many nodes: time and memory, and how they grow with each node.

The floor is one ``ssh`` a node that reads the manifest and a few facts, as many at once as the tool
has. Memory is what the imports take, and what a node adds.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from tests.bench.costs import CAN_TELL, command_cost, imports_cost
from tests.bench.floor import AS_OURS, floor_look
from tests.bench.measuring import Settings, interleaved, line_through, progress, table, times
from tests.bench.sshnodes import CAN_SERVE, SshNodes, ssh_nodes

FLOOR = "ssh (the floor)"
SAME_KEX = "the same with curve25519"
#: As many as rollout.fleet.in_parallel has at once.
AT_ONCE = 16
COMMANDS = {
    "plan": ("plan", "--recipe", "bin-packing"),
    "status": ("status",),
}


class Seen(NamedTuple):
    seconds: float
    megabytes: float = 0.0
    modules: tuple[str, ...] = ()


def run(settings: Settings) -> None:
    if not CAN_SERVE or not CAN_TELL:
        progress("fleet: left out, an sshd and Linux are needed")
        return
    sizes = settings.nodes or ((3, 50, 200) if settings.full else (3, 50))
    rounds = settings.of(3, 5)
    found: dict[int, dict[str, list[Seen]]] = {}
    with ssh_nodes(max(sizes), progress) as all_nodes:
        for size in sizes:
            nodes = all_nodes.first(size)
            contestants: dict[str, Callable[[], Seen]] = {
                FLOOR: partial(_floor, nodes),
                SAME_KEX: partial(_floor, nodes, *AS_OURS),
            }
            for name, words in COMMANDS.items():
                contestants[name] = partial(_command, nodes, words)
            found[size] = interleaved(contestants, rounds, f"{size} nodes")
    _tell_times(found, rounds)
    _tell_memory(found)


def _floor(nodes: SshNodes, *options: str) -> Seen:
    return Seen(floor_look(nodes, AT_ONCE, *options))


def _command(nodes: SshNodes, words: Sequence[str]) -> Seen:
    ssh = ("--ssh-config", str(nodes.ssh_config), "--progress", "none")
    cost = command_cost([*words, *ssh, *nodes.names])
    if cost.code:
        raise RuntimeError(f"{words} ended with {cost.code}: {cost.said[-3000:]}")
    return Seen(cost.seconds, cost.megabytes, cost.modules)


def _tell_times(found: dict[int, dict[str, list[Seen]]], rounds: int) -> None:
    typical = {
        name: {n: statistics.median(s.seconds for s in at[name]) for n, at in found.items()}
        for name in (FLOOR, SAME_KEX, *COMMANDS)
    }
    growth = {name: line_through(list(by.items())).slope for name, by in typical.items()}
    rows = [
        (
            name,
            *(f"{seconds:.2f} s" for seconds in by.values()),
            f"{growth[name] * 1000:.1f} ms",
            times(growth[name], growth[FLOOR]),
            "≤ 1 × the floor" if name in COMMANDS else "",
        )
        for name, by in typical.items()
    ]
    title = f"plan and status: time by the number of nodes (medians of {rounds} rounds)"
    head = ("", *(f"{size} nodes" for size in found), "a node more", "floor", "target")
    print(table(title, head, rows), flush=True)


def _tell_memory(found: dict[int, dict[str, list[Seen]]]) -> None:
    rows = []
    for name in COMMANDS:
        peaks = {n: statistics.median(s.megabytes for s in at[name]) for n, at in found.items()}
        imports = imports_cost(found[min(found)][name][0].modules).megabytes
        more = line_through(list(peaks.items())).slope
        rows.append(
            (
                name,
                f"{imports:.1f} MB",
                *(f"{megabytes:.1f} MB" for megabytes in peaks.values()),
                f"{more:.2f} MB",
                "≤ 0.5 MB",
            )
        )
    head = ("", "imports", *(f"{size} nodes" for size in found), "a node more", "target")
    print(table("plan and status: memory at the peak", head, rows), flush=True)
