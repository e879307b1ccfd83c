"""What hostile input costs: CPU seconds and memory of ``lint`` for each, start-up included.

``make bench`` prints it. The inputs are those of tests/unit/test_hostile.py.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.unit.test_hostile import YAML

_CHILD = """
import atexit, resource, sys
def note():
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, peak(), file=sys.stderr)
def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
atexit.register(note)
from kschedpatch.cli.entry import main
sys.argv = ["kschedpatch", "lint", "-f", "-"]
main()
"""


def measure(text: str) -> tuple[float, int]:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], input=text.encode(), capture_output=True, check=False
    )
    seconds, megabytes = done.stderr.decode().split()[-2:]
    return float(seconds), int(megabytes)


def main() -> None:
    if not os.path.exists("/proc/self/status"):  # noqa: PTH110
        print("hostile input: measured on Linux only")
        return
    print("\nHostile input to lint (target ≤ 1 s and 200 MB), start-up included")
    costs = {name: measure(text) for name, (text, _) in YAML.items()}
    worst = sorted(costs.items(), key=lambda item: -item[1][0])
    for name, (seconds, megabytes) in [*worst[:8], ("(median)", worst[len(worst) // 2][1])]:
        print(f"  {name:42} {seconds:6.2f} s CPU {megabytes:6} MB")


if __name__ == "__main__":
    main()
