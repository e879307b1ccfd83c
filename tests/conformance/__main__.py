"""`python -m tests.conformance run`, `recipes`, `record` and `build`: see README.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.e2e.cluster.build import build_stock_scheduler
from tests.e2e.cluster.console import RigError
from tests.e2e.cluster.versions import scheduler_minors, scheduler_version

from .recipes import ask_all
from .recipes import table as table_of_recipes
from .recorded import CASES, load, save
from .run import MinorRun, Outcome, table
from .scheduler import Scheduler, leave_the_network, scratch_base

_ENOUGH = 0.99
"""Of the refusals that name a field, lint blames the same one in at least so many."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="generate configurations and compare the verdicts")
    run.add_argument("--count", type=int, default=200, help="configurations for each minor")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument(
        "--reuse", action="store_true", help="take verdicts that a scheduler gave in an earlier run"
    )
    run.add_argument("--jobs", type=int, default=2)
    run.add_argument(
        "--kind", choices=("config", "policy"), help="default: both, Policies with 1.22"
    )
    run.add_argument(
        "--out", type=Path, default=Path(".conformance"), help="where disagreements go"
    )
    record = commands.add_parser("record", help="ask the schedulers about the recorded cases again")
    record.add_argument("paths", type=Path, nargs="*", help="configurations; default: all cases")
    build = commands.add_parser("build", help="compile the schedulers")
    recipes = commands.add_parser("recipes", help="every recipe, with every scheduler")
    for command in (run, record, build, recipes):
        command.add_argument("--minors", nargs="+", choices=scheduler_minors())
    options = parser.parse_args()
    minors = options.minors or scheduler_minors()
    for minor in minors:
        build_stock_scheduler(scheduler_version(minor))
    if options.command == "record":
        _record(options.paths or sorted(CASES.rglob("*.yaml")), minors)
    if options.command == "recipes":
        return _recipes(minors)
    return _run(options, minors) if options.command == "run" else 0


def _recipes(minors: list[str]) -> int:
    asked = list(ask_all(minors))
    print(table_of_recipes(asked))  # noqa: T201 - its result
    return int(any(answer.fault for answer in asked))


def _run(options: argparse.Namespace, minors: list[str]) -> int:
    outcomes: list[Outcome] = []
    for minor, kind in _parts(minors, options.kind):
        run = MinorRun(
            minor,
            options.count,
            options.seed,
            options.jobs,
            options.out / (minor if kind == "config" else f"{minor}-{kind}"),
            kind,
            options.reuse,
        )
        outcomes.append(run.outcome())
        print(table(outcomes[-1:]), flush=True)  # noqa: T201 - its result
    print("\n" + table(outcomes))  # noqa: T201 - same
    for outcome in outcomes:
        for group, count in outcome.groups.most_common():
            print(f"{outcome.minor}: {count} × {group}")  # noqa: T201 - same
    agreed = all(not outcome.numbers.disagreements for outcome in outcomes)
    blamed = all(outcome.numbers.same_blame_rate >= _ENOUGH for outcome in outcomes)
    if not (agreed and blamed):
        sys.stderr.write(f"disagreements are in {options.out}, one file a kind\n")
    return 0 if agreed and blamed else 1


def _parts(minors: list[str], kind: str | None) -> list[tuple[str, str]]:
    """1.22 is the last minor that reads Policies."""
    parts = [(minor, "config") for minor in minors] if kind != "policy" else []
    return parts + ([("1.22", "policy")] if "1.22" in minors and kind != "config" else [])


def _record(paths: list[Path], minors: list[str]) -> None:
    alone = leave_the_network()
    with tempfile.TemporaryDirectory(dir=scratch_base()) as directory:
        schedulers = [Scheduler(minor, Path(directory), alone) for minor in minors]
        for path in paths:
            case = load(path)
            if case.is_policy:
                fresh = {
                    s.minor: s.judge_policy(case.data) for s in schedulers if s.minor == "1.22"
                }
            else:
                fresh = {s.minor: s.judge(case.data, case.flags) for s in schedulers}
            verdicts = case.verdicts | fresh
            order = sorted(verdicts, key=lambda minor: int(minor.split(".")[1]))
            save(case._replace(verdicts={minor: verdicts[minor] for minor in order}))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RigError as error:
        sys.exit(f"conformance: {error}")
