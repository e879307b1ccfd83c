"""``python -m tests.bench [--full] [--rounds N] [--nodes N,N] [PART …]``: tables of ratios, never
assertions.

``make bench`` is the quick run of all parts, ``make bench-full`` the long one. Progress goes to
stderr, tables to stdout. Everything stays on the loopback.
"""

from __future__ import annotations

import argparse
import compileall
import importlib
import signal
import sys

from tests.bench.costs import ROOT
from tests.bench.measuring import Settings, progress

PARTS = ("startup", "job", "roundtrips", "fleet", "uploads", "linting", "hostile")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of: {', '.join(PARTS)}")
    parser.add_argument("--full", action="store_true", help="more nodes, more rounds, more bytes")
    parser.add_argument("--rounds", type=int, help="instead of what each part finds enough")
    parser.add_argument("--nodes", help="how many, separated by commas, instead of each part's own")
    given = parser.parse_args()
    unknown = [name for name in given.parts if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    # Servers that were started are ended on the way out, so that must be taken on these as well.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    # pip compiles what it installs, the libraries here included; a checkout may have no byte code.
    for part in ("kschedpatch", "tests"):
        compileall.compile_dir(str(ROOT / part), quiet=2)
    nodes = tuple(int(number) for number in (given.nodes or "").split(",") if number)
    settings = Settings(given.full, given.rounds, nodes)
    for name in given.parts or PARTS:
        progress(f"-- {name}")
        # One by one: what a part imports must not slow the parts before it.
        importlib.import_module(f"tests.bench.{name}").run(settings)


if __name__ == "__main__":
    main()
