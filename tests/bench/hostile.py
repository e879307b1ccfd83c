"""What hostile input costs: CPU seconds and memory of ``lint`` for each, start-up included.

The inputs are those of tests/unit/test_hostile.py.
"""

from __future__ import annotations

from tests.bench.costs import CAN_TELL, command_cost
from tests.bench.measuring import Settings, progress, table
from tests.unit.test_hostile import YAML


def run(settings: Settings) -> None:
    if not CAN_TELL:
        progress("hostile: left out, measured on Linux only")
        return
    costs = {}
    for name, (text, _) in YAML.items():
        progress(f"lint of hostile input: {name}")
        costs[name] = command_cost(["lint", "-f", "-"], text.encode())
    worst = sorted(costs.items(), key=lambda item: -item[1].cpu)
    shown = worst if settings.full else worst[:8]
    rows = [
        (name, f"{cost.cpu:.2f} s", f"{cost.megabytes:.0f} MB", "≤ 1 s, ≤ 200 MB")
        for name, cost in [*shown, ("(the median)", worst[len(worst) // 2][1])]
    ]
    title = "Hostile input to lint: processor time and memory, start-up included"
    print(table(title, ("", "CPU", "peak", "target"), rows), flush=True)
