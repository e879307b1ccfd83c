"""How long the program takes to start, as ratios against the least that its libraries cost.

``make bench`` runs it. Commands are run in turns, so that a busy machine slows all of them alike;
the ratio is that of the medians. Nothing here fails: it prints what it finds.
"""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = int(os.environ.get("ROUNDS", "15"))
ROOT = Path(__file__).parents[2]
RECIPES = ("gpumps", "gpu-admission", "bin-packing")

TYPER = [sys.executable, "-c", "import typer"]
PROGRAM = [str(Path(sys.executable).parent / "kschedpatch")]  # what users start
EMPTY_COMMAND = """\
import typer
app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
@app.command()
def main() -> None:
    import ruamel.yaml
    import pydantic
    from pydantic import BaseModel
    ruamel.yaml.YAML
    class Nothing(BaseModel):
        name: str
app()
"""


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def medians(commands: dict[str, list[str]]) -> dict[str, float]:
    for command in commands.values():
        seconds(command)  # byte code and page cache
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(seconds(command))
    return {name: statistics.median(values) for name, values in times.items()}


def table(title: str, floor: str, commands: dict[str, list[str]], target: float) -> None:
    found = medians(commands)
    print(f"\n{title} (median of {ROUNDS} rounds, target ≤ {target} × the floor)")
    for name, value in found.items():
        mark = "floor" if name == floor else f"{value / found[floor]:.2f} ×"
        print(f"  {name:42} {value * 1000:7.0f} ms   {mark}")


def main() -> None:
    # pip compiles what it installs, the libraries here included; a checkout may have no byte code.
    compileall.compile_dir(str(ROOT / "kschedpatch"), quiet=1)
    table(
        "Start-up",
        "import typer",
        {"import typer": TYPER, "kschedpatch --help": [*PROGRAM, "--help"]},
        1.3,
    )
    with tempfile.TemporaryDirectory() as directory:
        script = Path(directory) / "empty.py"
        script.write_text(EMPTY_COMMAND)
        floor = "empty command with ruamel and pydantic"
        lints = {f"lint --recipe {name}": [*PROGRAM, "lint", "--recipe", name] for name in RECIPES}
        table("lint", floor, {floor: [sys.executable, str(script)], **lints}, 1.3)


if __name__ == "__main__":
    main()
