"""One process of a run: a share of the configurations of one minor. Prints a JSON object a line."""

from __future__ import annotations

import argparse
import base64
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from kschedpatch.model.finding import Finding

from .comparing import Comparison, compare, compare_policy, linted, linted_policy
from .configurations import Case, cases
from .minimising import minimised
from .policies import policies
from .scheduler import Scheduler, leave_the_network, scratch_base
from .verdicts import Verdict

_MINIMISED_PER_GROUP = 1


class Share:
    """Judges case after case and keeps the numbers."""

    def __init__(self, scheduler: Scheduler, kind: str) -> None:
        self._scheduler, self._kind = scheduler, kind
        self._minor = int(scheduler.minor.split(".")[1])
        self.numbers = dict.fromkeys(
            ("count", "accepted", "disagreements", "named", "same_blame", "apart"), 0
        ) | dict.fromkeys(("scheduler_seconds", "scheduler_cpu", "lint_seconds", "lint_cpu"), 0.0)
        self.groups: dict[str, int] = {}

    def take(self, case: Case) -> None:
        comparison = self._compared(case)
        numbers = self.numbers
        numbers["count"] += 1
        numbers["disagreements"] += not comparison.agree
        numbers["apart"] += comparison.apart
        numbers["named"] += comparison.named
        numbers["same_blame"] += comparison.named and comparison.same_blame
        if comparison.group:
            seen = self.groups[comparison.group] = self.groups.get(comparison.group, 0) + 1
            if seen <= _MINIMISED_PER_GROUP:
                self._report(case, comparison)
        if numbers["count"] % 20 == 0:
            say({"numbers": numbers, "groups": self.groups})

    def _compared(self, case: Case, counts: bool = True) -> Comparison:
        started, cpu = time.perf_counter(), _children_cpu()
        verdict = self._judged(case)
        judged, own = time.perf_counter(), time.process_time()
        errors = self._linted(case)
        if counts:
            self.numbers["scheduler_seconds"] += judged - started
            self.numbers["scheduler_cpu"] += _children_cpu() - cpu
            self.numbers["lint_seconds"] += time.perf_counter() - judged
            self.numbers["lint_cpu"] += time.process_time() - own
            self.numbers["accepted"] += verdict.accepted
        judge = compare_policy if self._kind == "policy" else compare
        return judge(case.data, verdict, errors)

    def _judged(self, case: Case) -> Verdict:
        if self._kind == "policy":
            return self._scheduler.judge_policy(case.data)
        return self._scheduler.judge(case.data, case.flags)

    def _linted(self, case: Case) -> list[Finding]:
        if self._kind == "policy":
            return linted_policy(case.data)
        return linted(case.data, case.flags, self._minor)

    def _report(self, case: Case, comparison: Comparison) -> None:
        small = minimised(
            case, lambda other: self._compared(other, counts=False).group == comparison.group
        )
        say(
            {
                "group": comparison.group,
                "minor": self._scheduler.minor,
                "agree": comparison.agree,
                "data": base64.b64encode(small.data).decode(),
                "flags": small.flags,
                "scheduler": self._judged(small).text,
                "lint": [f"{e.code} {e.path}: {e.message}" for e in self._linted(small)],
            }
        )


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def say(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("minor")
    parser.add_argument("--kind", choices=("config", "policy"), default="config")
    parser.add_argument("--reuse", action="store_true")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    alone = leave_the_network()
    with tempfile.TemporaryDirectory(dir=scratch_base()) as directory:
        share = Share(Scheduler(options.minor, Path(directory), alone, options.reuse), options.kind)
        minor = int(options.minor.split(".")[1])
        generated = policies() if options.kind == "policy" else cases(minor)

        @seed(options.seed)
        @settings(
            max_examples=options.count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(generated)
        def each(case: Case) -> None:
            share.take(case)

        each()
        say({"numbers": share.numbers, "groups": share.groups})


if __name__ == "__main__":
    main()
