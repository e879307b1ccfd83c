"""`make outage`: how long the cluster is without a scheduler while it is changed, in one table.

By hand and by kschedpatch, with one and with three control-plane nodes. Exit
code 1 when a pod was lost or bound twice, or a command did not end as it
should; a time is only printed.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType

from tests.e2e.cluster.cluster import Cluster, attach, bring_up, refuse_beside_kept
from tests.e2e.cluster.console import RigError, say
from tests.e2e.cluster.reaper import Reaper
from tests.e2e.cluster.settings import NODE_COUNTS, why_not_here
from tests.e2e.cluster.teardown import exclusive, take_down
from tests.e2e.cluster.versions import DEFAULT_MINOR, known_minors

from .measure import PODS_PER_SECOND, measure
from .table import Run, Way, report
from .ways import Bench


def main() -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    options = _parser().parse_args()
    reason = why_not_here()
    if reason:
        sys.stderr.write(f"{reason}\n")
        return 2
    ways = [way for way in Way if way.value in options.ways]
    runs: list[Run] = []
    releases: set[str] = set()
    code = 0
    try:
        for up in _clusters(options):
            with up as cluster:
                releases.add(cluster.version.release)
                _measure(cluster, ways, options.repeat, runs)
    except RigError as error:
        sys.stderr.write(f"error: {error}\n")
        code = 1
    except KeyboardInterrupt:
        code = 130
    if runs:
        # Also of a run that was cut off: what was measured is true all the same.
        sys.stdout.write(report(runs, _title(releases, options.repeat)))
    return code or int(any(run.failures for run in runs))


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.outage", description=__doc__)
    parser.add_argument("--kubernetes", choices=known_minors(), default=DEFAULT_MINOR)
    parser.add_argument(
        "--nodes", type=int, choices=NODE_COUNTS, help="only this size (default: one, then three)"
    )
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="of each way (5)")
    parser.add_argument(
        "--ways", default="".join(way.value for way in Way), help="letters (%(default)s)"
    )
    parser.add_argument(
        "--running-cluster",
        action="store_true",
        help="use the cluster that `make cluster-up` started, and leave it running",
    )
    return parser


def _clusters(options: argparse.Namespace) -> Iterator[AbstractContextManager[Cluster]]:
    if options.running_cluster:
        yield nullcontext(attach())
        return
    for nodes in [options.nodes] if options.nodes else NODE_COUNTS:
        yield _own(options.kubernetes, nodes)


@contextmanager
def _own(minor: str, nodes: int) -> Iterator[Cluster]:
    """Booted for this, and taken down whatever happens: by the reaper where this process can't."""
    run = uuid.uuid4().hex
    with exclusive():
        refuse_beside_kept()
        reaper = Reaper(run)
        try:
            yield bring_up(minor, nodes, run=run, keep=False)
        finally:
            take_down()
            reaper.dismiss()


def _measure(cluster: Cluster, ways: Sequence[Way], repeat: int, runs: list[Run]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench.of(cluster, Path(directory))

        def keep(run: Run) -> None:
            runs.append(run)
            say(
                f"{run.way.value}, run {run.number}: {run.outage:.2f} s without a ready lease"
                f" holder, longest wait {run.wait:.2f} s; {run.created} pods, {run.lost} lost"
            )
            for failure in run.failures:
                say(f"  {failure}")

        try:
            measure(bench, ways, repeat, keep)
        finally:
            bench.restore()


def _title(releases: set[str], repeat: int) -> str:
    return (
        f"Kubernetes {', '.join(sorted(releases))}; {repeat} of each way, interleaved;"
        f" {PODS_PER_SECOND:g} pods a second; seconds"
    )


if __name__ == "__main__":
    sys.exit(main())
