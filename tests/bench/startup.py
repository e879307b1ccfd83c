"""How long the program takes to start, as ratios against the least that its libraries cost."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.bench.jobspec import ROOT
from tests.bench.measuring import Settings, interleaved, medians, stopwatch, table, times

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


def run(settings: Settings) -> None:
    helps = {"import typer (the floor)": TYPER, "kschedpatch --help": [*PROGRAM, "--help"]}
    _measure("Start-up", helps, settings)
    with tempfile.TemporaryDirectory() as directory:
        script = Path(directory) / "empty.py"
        script.write_text(EMPTY_COMMAND)
        lints = {f"lint --recipe {name}": [*PROGRAM, "lint", "--recipe", name] for name in RECIPES}
        floor = {
            "empty command with ruamel and pydantic (the floor)": [sys.executable, str(script)]
        }
        _measure("lint", {**floor, **lints}, settings)


def _measure(title: str, commands: Mapping[str, Sequence[str]], settings: Settings) -> None:
    """The first of them is the floor."""
    rounds = settings.of(7, 21)
    contestants = {name: partial(_seconds, command) for name, command in commands.items()}
    found = medians(interleaved(contestants, rounds, title))
    floor = next(iter(found))
    rows = [
        (
            name,
            f"{value * 1000:.0f} ms",
            times(value, found[floor]),
            "" if name == floor else "≤ 1.3 × the floor",
        )
        for name, value in found.items()
    ]
    print(table(f"{title} (medians of {rounds} rounds)", ("", "time", "floor", "target"), rows))


def _seconds(command: Sequence[str]) -> float:
    with stopwatch() as watch:
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return watch.seconds
