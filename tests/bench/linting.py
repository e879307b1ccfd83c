"""``lint`` as a library in one process: configurations a second, against the real scheduler's.

The configurations are the recorded cases of tests/conformance; recipes are whole patch files with
all that they name. The scheduler is asked by one process each, as there is no other way to ask it;
it is left out where none of this minor has been built before (``make conformance`` does it).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from kschedpatch.inputs.linting import lint_path
from kschedpatch.inputs.quickflags import QuickFlags
from kschedpatch.inputs.recipes import all_recipes
from kschedpatch.model.kubeversion import KubeVersion
from tests.bench.measuring import Settings, interleaved, medians, progress, stopwatch, table, times
from tests.conformance.comparing import linted
from tests.conformance.configurations import Case
from tests.conformance.recorded import recorded
from tests.conformance.scheduler import Scheduler, Unclear
from tests.e2e.cluster.settings import cache_directory

MINOR = 34
LINT, RECIPES = "lint as a library", "lint of recipes as a library"
REAL = "kube-scheduler, a process each (the floor)"


def run(settings: Settings) -> None:
    cases = [
        Case(case.data, case.flags)
        for case in recorded()
        if not case.is_policy and f"1.{MINOR}" in case.verdicts
    ]
    contestants: dict[str, Callable[[], float]] = {
        LINT: partial(_lint, cases),
        RECIPES: _lint_recipes,
    }
    rounds = settings.of(3, 9)
    binary = _cached_scheduler()
    with tempfile.TemporaryDirectory() as directory:
        if binary is None:
            progress(f"linting: no kube-scheduler 1.{MINOR} is in the cache; make conformance")
        else:
            scheduler = Scheduler(f"1.{MINOR}", Path(directory), alone=False, binary=binary)
            some = cases if settings.full else cases[::8]
            contestants[REAL] = partial(_ask, scheduler, some)
        found = medians(interleaved(contestants, rounds, "linting"))
    floor = found.get(REAL, 0.0)
    rows = [
        (name, f"{speed:.0f} a second", times(speed, floor) if floor else "no binary", "")
        for name, speed in found.items()
    ]
    title = f"lint of {len(cases)} configurations for 1.{MINOR} (medians of {rounds} rounds)"
    print(table(title, ("", "speed", "floor", ""), rows), flush=True)


def _lint(cases: Sequence[Case]) -> float:
    with stopwatch() as watch:
        for case in cases:
            linted(case.data, case.flags, MINOR)
    return len(cases) / watch.seconds


def _lint_recipes() -> float:
    recipes = all_recipes()
    with stopwatch() as watch:
        for recipe in recipes:
            lint_path(str(recipe.path), QuickFlags(), None, KubeVersion(MINOR, 0))
    return len(recipes) / watch.seconds


def _ask(scheduler: Scheduler, cases: Sequence[Case]) -> float:
    with stopwatch() as watch:
        for case in cases:
            try:
                scheduler.judge(case.data, case.flags)
            except Unclear as error:
                progress(f"linting: an answer that says nothing: {error}")
    return len(cases) / watch.seconds


def _cached_scheduler() -> Path | None:
    """None is built for this: it takes minutes."""
    found = cache_directory().glob(f"*/*-1.{MINOR}-*/kube-scheduler")
    return next(iter(sorted(found)), None)
