"""`make picture`: docs/apply.svg, an `apply` as its terminal showed it.

In a sandbox; with `--running-cluster` on the real one of `make cluster-up`. Everything in the
picture was printed by the program: what is left out is the diff, which a page shows as text.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from kschedpatch.sandbox.demo import sandbox_stage
from kschedpatch.sandbox.demoplay import Stage
from tests.terminal import Terminal

PICTURE = Path(__file__).parents[1] / "docs/apply.svg"
COLUMNS = 80
_WORDS = ("apply", "-f", "gpumps.yaml", "--probe", "--yes", "--ssh-config", "ssh_config")
_NODES = ("cp1", "cp2", "cp3")
#: The plan's last part, and all that comes behind it.
_FROM = "What will happen:"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--running-cluster", action="store_true")
    real = parser.parse_args().running_cluster
    with _real() if real else sandbox_stage() as stage:
        # A sandbox's clock is faster than the commands' own: their deadline must be longer.
        more = () if real else ("--confirm-timeout", "600")
        command = [sys.executable, "-P", "-m", "kschedpatch", *_WORDS, *more, *_NODES]
        with Terminal(
            command,
            columns=COLUMNS,
            lines=40,
            cwd=stage.directory,
            environment=stage.environment,
        ) as terminal:
            code = terminal.wait(300)
            shown = terminal.texts()
        if code != 0:
            sys.stderr.write("\n".join(line.plain for line in shown) + f"\nexit code {code}\n")
            return 1
    PICTURE.write_text(drawn(shown, "kschedpatch apply -f gpumps.yaml cp1 cp2 cp3"), "utf-8")
    sys.stderr.write(f"{PICTURE.name} is written\n")
    return 0


@contextmanager
def _real() -> Iterator[Stage]:
    from tests.e2e.cluster.cluster import attach
    from tests.e2e.realstage import real_stage
    from tests.e2e.tool import kschedpatch

    cluster = attach()
    with tempfile.TemporaryDirectory() as directory, real_stage(cluster, Path(directory)) as stage:
        yield stage
        way = (*_NODES, "--ssh-config", str(cluster.access.ssh_config), "--yes")
        kschedpatch(cluster, "rollback", *way)
        kschedpatch(cluster, "purge", *way)


def drawn(lines: Sequence[Text], command: str) -> str:
    start = next(n for n, line in enumerate(lines) if line.plain.startswith(_FROM))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}", style="bold"))
    for line in lines[start:]:
        console.print(line, no_wrap=True, crop=True)
    svg = console.export_svg(title="kschedpatch", unique_id="kschedpatch")
    # The picture is complete in itself: it fetches no font from anywhere.
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    sys.exit(main())
