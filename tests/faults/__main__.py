"""make faults: every fault at every boundary. Prints the injections and how many were survived."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from kschedpatch.sandbox.sandbox import Sandbox
from tests.faults.faults import FAULTS
from tests.faults.matrix import BETWEEN_CALLS, ON_NODE, Injection, Matrix
from tests.integration.rollout.rig import SPEED


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stride", type=int, default=1, help="only every n-th boundary")
    parser.add_argument("--start", type=int, default=1, help="the first boundary")
    parser.add_argument("--only", default="", help="faults whose name has this in it")
    parser.add_argument("--side", choices=["node", "calls", "both"], default="both")
    parser.add_argument("--quiet", action="store_true", help="only violations and the sum")
    chosen = parser.parse_args()
    sides = {"node": [ON_NODE], "calls": [BETWEEN_CALLS]}.get(chosen.side, [BETWEEN_CALLS, ON_NODE])
    # Its end in order: sandboxes take their mounts and processes with them.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    began, done = time.monotonic(), list[Injection]()
    for fault in FAULTS:
        if chosen.only not in fault.name:
            continue
        with (
            tempfile.TemporaryDirectory() as directory,
            Sandbox(
                Path(directory), nodes=1, speed=SPEED, breakable_disks=fault.needs_disks
            ) as sandbox,
        ):
            if fault.needs_disks and not sandbox.nodes[0].can_break_disks:
                _say(f"{fault.name}: left out, it needs root on Linux")
                continue
            matrix = Matrix(sandbox)
            for side in sides:
                if side == BETWEEN_CALLS and not fault.between_calls:
                    continue
                for injection in matrix.countdown(
                    fault, side, start=chosen.start, stride=chosen.stride
                ):
                    done.append(injection)
                    if injection.violations or not chosen.quiet:
                        _say(str(injection))
    bad = [injection for injection in done if injection.violations]
    minutes = (time.monotonic() - began) / 60
    _say(f"{len(done)} injections, {len(done) - len(bad)} survived, {minutes:.1f} minutes")
    return 1 if bad or not done else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
