"""A run: workers for each minor, their numbers added up, and a table at the end."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .recorded import Recorded, save
from .verdicts import Verdict

_PROGRESS_SECONDS = 10.0


@dataclass(frozen=True)
class Numbers:
    """Of one minor, added up over its workers."""

    count: int = 0
    accepted: int = 0
    disagreements: int = 0
    named: int = 0
    same_blame: int = 0
    apart: int = 0
    scheduler_seconds: float = 0.0
    scheduler_cpu: float = 0.0
    lint_seconds: float = 0.0
    lint_cpu: float = 0.0

    @property
    def same_blame_rate(self) -> float:
        return self.same_blame / self.named if self.named else 1.0


_NUMBERS = [field.name for field in dataclasses.fields(Numbers)]


class Outcome(NamedTuple):
    minor: str
    numbers: Numbers
    seconds: float
    groups: Counter[str]


class MinorRun:
    """The workers of one minor, which run side by side."""

    def __init__(
        self, minor: str, count: int, seed: int, jobs: int, out: Path, kind: str, reuse: bool
    ) -> None:
        self._minor, self._count, self._out, self._kind = minor, count, out, kind
        share, rest = divmod(count, jobs)
        shares = [share + (index < rest) for index in range(jobs)]
        self._commands = [
            ["setpriv", "--pdeathsig", "TERM",
             sys.executable, "-m", "tests.conformance.worker", minor, "--kind", kind,
             f"--count={share}", f"--seed={seed * 1000 + index}", *(["--reuse"] if reuse else [])]
            for index, share in enumerate(shares)
            if share
        ]  # fmt: skip
        self._numbers: dict[int, dict[str, Any]] = {}
        self._groups: dict[int, dict[str, int]] = {}

    def outcome(self) -> Outcome:
        started = time.monotonic()
        processes = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            for command in self._commands
        ]
        readers = [
            threading.Thread(target=self._listen, args=(index, process), daemon=True)
            for index, process in enumerate(processes)
        ]
        try:
            for reader in readers:
                reader.start()
            while any(reader.is_alive() for reader in readers):
                readers[-1].join(_PROGRESS_SECONDS)
                if not readers[-1].is_alive():
                    readers[0].join(_PROGRESS_SECONDS)
                self._tell(time.monotonic() - started)
        finally:
            for process in processes:
                process.terminate()
        if any(process.wait() for process in processes):
            raise SystemExit(f"a worker of {self._minor} failed: see above")
        name = self._minor if self._kind == "config" else f"{self._minor} Policy"
        return Outcome(name, self._sum(), time.monotonic() - started, self._all_groups())

    def _listen(self, index: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            record = json.loads(line)
            if "numbers" in record:
                self._numbers[index], self._groups[index] = record["numbers"], record["groups"]
            else:
                keep(record, self._out)

    def _sum(self) -> Numbers:
        parts = list(self._numbers.values())
        return Numbers(*(sum(part[name] for part in parts) for name in _NUMBERS))

    def _all_groups(self) -> Counter[str]:
        groups = Counter[str]()
        for part in self._groups.values():
            groups.update(part)
        return groups

    def _tell(self, seconds: float) -> None:
        now = self._sum()
        rate = now.count / seconds if seconds else 0.0
        sys.stderr.write(
            f"{self._minor}: {now.count} of {self._count}, {now.disagreements} disagreements, "
            f"{rate:.1f} a second\n"
        )


def keep(record: dict[str, Any], out: Path) -> None:
    """One example of a disagreement, in the form of a recorded case."""
    words = "-".join(re.findall(r"[a-z]+", record["group"].lower())[:9])
    digest = hashlib.sha256(record["group"].encode()).hexdigest()[:6]
    path = out / f"{words}-{digest}.yaml"
    out.mkdir(parents=True, exist_ok=True)
    path.write_bytes(base64.b64decode(record["data"]))
    verdict = Verdict(not record["scheduler"], record["scheduler"])
    about = f"{record['group']}; lint: {'; '.join(record['lint']) or 'no error'}"
    flags = tuple((name, value) for name, value in record["flags"])
    save(Recorded(path, about, flags, {record["minor"]: verdict}))


_HEAD = (
    "minor", "configurations", "accepted", "refused", "disagreements", "same blame",
    "apart", "scheduler/s", "CPU ms", "lint/s", "CPU ms",
)  # fmt: skip


def table(outcomes: list[Outcome]) -> str:
    rows = [_HEAD, *(_row(outcome) for outcome in outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def _row(outcome: Outcome) -> tuple[str, ...]:
    n = outcome.numbers
    return (
        outcome.minor,
        str(n.count),
        str(n.accepted),
        str(n.count - n.accepted),
        str(n.disagreements),
        f"{n.same_blame_rate:.2%} of {n.named}",
        str(n.apart),
        f"{n.count / n.scheduler_seconds:.1f}" if n.scheduler_seconds else "-",
        f"{1000 * n.scheduler_cpu / n.count:.0f}" if n.count else "-",
        f"{n.count / n.lint_seconds:.0f}" if n.lint_seconds else "-",
        f"{1000 * n.lint_cpu / n.count:.0f}" if n.count else "-",
    )
