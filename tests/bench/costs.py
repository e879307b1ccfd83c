"""What one run of a Python program costs: seconds, processor time, memory at its peak, by itself.

The kernel's ``ru_maxrss`` would not do: a process that is started inherits the peak of the one that
has started it. So the program tells its own peak when it ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.measuring import stopwatch

ROOT = Path(__file__).parents[2]
#: Memory is told by /proc.
CAN_TELL = Path("/proc/self/status").exists()

_CHILD = """
import atexit, json, resource, sys
note = sys.argv[1]
def tell():
    used = resource.getrusage(resource.RUSAGE_SELF)
    with open("/proc/self/status") as status:
        peak, = (int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    with open(note, "w") as out:
        json.dump([used.ru_utime + used.ru_stime, peak / 1024, sorted(sys.modules)], out)
atexit.register(tell)
sys.argv = ["kschedpatch", *sys.argv[2:]]
"""
_PROGRAM = "from kschedpatch.cli.entry import main\nmain()\n"
_IMPORTS = """
import importlib
for name in sys.stdin.read().split():
    try:
        importlib.import_module(name)
    except ImportError:
        pass
"""


class Cost(NamedTuple):
    seconds: float
    cpu: float
    megabytes: float
    """Resident at the peak, shared libraries included."""
    modules: tuple[str, ...]
    code: int
    said: str


def command_cost(words: Sequence[str], stdin: bytes = b"") -> Cost:
    """Of a command of the program, its start included."""
    return _cost(_PROGRAM, words, stdin)


def imports_cost(modules: Sequence[str]) -> Cost:
    """Of nothing but these imports; modules of a script's own (``__main__``) are passed over."""
    names = [name for name in modules if not name.startswith("__")]
    return _cost(_IMPORTS, [], " ".join(names).encode())


def _cost(body: str, words: Sequence[str], stdin: bytes) -> Cost:
    with tempfile.TemporaryDirectory() as directory:
        note = Path(directory) / "note"
        command = [sys.executable, "-c", _CHILD + body, str(note), *words]
        with stopwatch() as watch:
            done = subprocess.run(command, cwd=ROOT, input=stdin, capture_output=True, check=False)
        said = (done.stdout + done.stderr).decode(errors="replace")
        if not note.exists():
            raise RuntimeError(f"{words}: ended without a word on its costs: {said}")
        cpu, megabytes, modules = json.loads(note.read_text())
    return Cost(watch.seconds, cpu, megabytes, tuple(modules), done.returncode, said)
