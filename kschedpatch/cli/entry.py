"""The program's entry: nothing but an exit code of ours may come out of it."""

from __future__ import annotations

import gc
import os
import sys

from kschedpatch.model import exitcodes


def main() -> None:
    # Imports make many objects and no garbage: looking for it takes a twentieth of a short command.
    gc.set_threshold(20_000, 20, 20)

    from kschedpatch.cli.app import app

    # As a kubectl plugin the program is called by its file's name; people type it with a blank.
    called = os.path.basename(sys.argv[0])  # noqa: PTH119  pathlib is not needed for --help
    name = "kubectl schedpatch" if called.startswith("kubectl-") else "kschedpatch"
    try:
        app(prog_name=name)
    except Exception as error:  # noqa: BLE001  the last resort: no traceback, no exit code 1
        _internal(error)


def _internal(error: Exception) -> None:
    if os.environ.get("KSCHEDPATCH_DEBUG"):
        raise error
    text = f"{type(error).__name__}: {error}"
    sys.stderr.write(
        f"kschedpatch: internal error, a bug of this program: {ascii(text)[1:-1]}\n"
        "Nothing was written. Set KSCHEDPATCH_DEBUG=1 to see where it comes from,\n"
        "and please report it together with the input.\n"
    )
    sys.exit(exitcodes.INTERNAL)
