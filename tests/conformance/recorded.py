"""Cases on disk: a configuration, and beside it the flags and what each minor's scheduler said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .verdicts import Verdict

CASES = Path(__file__).parent / "cases"
_LONGEST = 600
"""Of a refusal: 1.22 quotes half of the file in some of them."""


class Recorded(NamedTuple):
    path: Path
    """Of the configuration."""
    about: str
    flags: tuple[tuple[str, str], ...]
    verdicts: dict[str, Verdict]
    """By minor."""

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @property
    def is_policy(self) -> bool:
        return self.path.parent.name == "policies"

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"


def recorded(directory: Path = CASES) -> Iterator[Recorded]:
    for path in sorted(directory.rglob("*.yaml")):
        yield load(path)


def load(path: Path) -> Recorded:
    """A file without a record yet is a case that no scheduler has seen."""
    beside = path.with_suffix(".json")
    if not beside.exists():
        return Recorded(path, "", (), {})
    record = json.loads(beside.read_text())
    verdicts = {minor: Verdict(not said, said) for minor, said in record["refusals"].items()}
    return Recorded(path, record["about"], tuple(record["flags"].items()), verdicts)


def save(case: Recorded) -> None:
    record = {
        "about": case.about,
        "flags": dict(case.flags),
        "refusals": {
            minor: "" if verdict.accepted else verdict.text[:_LONGEST]
            for minor, verdict in case.verdicts.items()
        },
    }
    text = json.dumps(record, indent=2, ensure_ascii=False)
    case.path.with_suffix(".json").write_text(text + "\n")
