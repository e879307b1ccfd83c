"""One measured run: a stream of pods and the sampler over a change."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.e2e.cluster.console import RigError, say, wait_until
from tests.e2e.cluster.node import SCHEDULER_PORT
from tests.e2e.cluster.sampler import Sampler
from tests.e2e.cluster.workload import PodStream, fake_nodes

from .story import story
from .table import Run, Way
from .ways import Bench

CANARY_PORT = 10269
PODS_PER_SECOND = 10.0
_FAKE_NODES = 5
_BEFORE_SECONDS = 4.0
_AFTER_SECONDS = 5.0
_VERBOSITIES = 4


def measure(bench: Bench, ways: Sequence[Way], repeat: int, keep: Callable[[Run], None]) -> None:
    """All ways in turn, again and again: what disturbs this machine is shared by all of them."""
    step = 0
    with fake_nodes(bench.cluster.api, _FAKE_NODES):
        for number in range(1, repeat + 1):
            for way in ways:
                step += 1
                # 1 is too near to the default, above 5 the log itself is work.
                keep(_measured(bench, way, number, 2 + step % _VERBOSITIES))


def _measured(bench: Bench, way: Way, number: int, verbosity: int) -> Run:
    bench.settle()
    say(f"{way.value}, run {number}")
    try:
        run = _one(bench, way, number, verbosity)
    except RigError as error:
        # One run that says nothing is not to cost the hour of the others; if the cluster can't
        # be put back, the next one's settling ends it all.
        run = Run(len(bench.cluster.nodes), way, number, 0, 0, 0, 0, 0, problems=(str(error),))
    return replace(run, problems=run.problems + bench.restore())


def _one(bench: Bench, way: Way, number: int, verbosity: int) -> Run:
    cluster = bench.cluster
    prefix = f"outage-{way.value}-{number}"
    with PodStream(cluster.api, per_second=PODS_PER_SECOND, prefix=prefix) as stream:
        with Sampler(cluster, ports=(SCHEDULER_PORT, CANARY_PORT)) as sampler:
            time.sleep(_BEFORE_SECONDS)
            began = sampler.since_start()
            ended = bench.change(way, verbosity)
            wait_until("a lease holder at work", sampler.works_now, 120, interval=0.5)
            time.sleep(_AFTER_SECONDS)
        record = sampler.record
    pods = stream.placements()
    waits = [pod.waited for pod in pods if pod.waited is not None]
    return Run(
        nodes=len(cluster.nodes),
        way=way,
        number=number,
        outage=record.outage(),
        wait=max(waits, default=0.0),
        created=len(pods),
        bound=len(waits),
        twice=len(set(stream.moved)),
        exit_code=ended.exit_code,
        problems=ended.problems + tuple(f"pod refused: {text}" for text in stream.refused),
        story=tuple(story(record, began, pods, time.monotonic() - sampler.since_start())),
    )
