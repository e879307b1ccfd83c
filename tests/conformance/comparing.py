"""Lint's verdict beside the scheduler's: do they agree, and do they blame the same field?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kschedpatch.core.schedconfig.checks import Surroundings
from kschedpatch.core.schedconfig.judge import judge
from kschedpatch.core.schedconfig.policy.judge import judge_policy
from kschedpatch.core.yamltext.goyaml.reading import read_as_go
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.model.finding import Finding

from .verdicts import Blame, Verdict, blames


class Comparison(NamedTuple):
    agree: bool
    named: bool
    """Whether the scheduler refused and said where."""
    same_blame: bool
    group: str = ""
    """What is alike about disagreements with one cause."""
    apart: bool = False
    """One of them gave no verdict on the configuration: the file is beyond lint's bounds, or the
    scheduler misses a file that is named there."""


#: Bounds on a file that is read at all: its size, its depth, the number of its values. Go's are far
#: beyond them.
_BOUNDS = frozenset(["Y001", "Y011", "Y012"])
#: apiVersion or kind of a configuration, and of a Policy.
_HEADS = frozenset(["C002", "L001"])
_NO_FILE = re.compile(r"(?:stat|open) [^:]*: (?:no such file or directory|file name too long)")
#: Durations that the elector refuses when it starts: behind what `--write-config-to` goes through.
_LATER = frozenset(["C041"])


def linted_policy(data: bytes) -> list[Finding]:
    """Lint's errors about a Policy."""
    return [finding for finding in judge_policy(data, "policy.yaml") if finding.is_error]


def linted(data: bytes, flags: Iterable[tuple[str, str]], minor: int) -> list[Finding]:
    """Lint's errors about a configuration, as far as the scheduler meets them when it reads it."""
    around = Surroundings(minor=minor, flags=dict(flags), stock_image=True)
    found = judge(data, "config.yaml", around)
    return [finding for finding in found if finding.is_error and finding.code not in _LATER]


def compare(data: bytes, verdict: Verdict, errors: Sequence[Finding]) -> Comparison:
    if _NO_FILE.match(verdict.text):
        return Comparison(True, False, True, apart=True)
    codes = {error.code for error in errors}
    if codes & _BOUNDS:
        # Both may refuse it, but what lint has not read it can't blame.
        return Comparison(True, False, True, apart=verdict.accepted)
    if verdict.accepted:
        if not errors:
            return Comparison(True, False, True)
        what = " ".join(sorted({f"{e.code}@{_shape(e.path)}" for e in errors}))
        return Comparison(False, False, True, f"only lint refuses: {what}")
    if not errors:
        return Comparison(
            False, False, True, f"only the scheduler refuses: {pattern(verdict.text)}"
        )
    named = blames(verdict.text)
    missed = [blame for blame in named if not any(_blamed(blame, e, data) for e in errors)]
    if not missed:
        return Comparison(True, bool(named), True)
    what = " ".join(sorted({f"{e.code}@{_shape(e.path)}" for e in errors}))
    return Comparison(True, True, False, f"other blame: {pattern(verdict.text)} / {what}")


def compare_policy(data: bytes, verdict: Verdict, errors: Sequence[Finding]) -> Comparison:
    """1.22 takes its defaults from a file with nothing in it, its head left out or not; lint goes
    by the head of a file."""
    if verdict.accepted and not set(_value(data) or ()) - {"apiVersion", "kind"}:
        return Comparison(True, False, True, apart=bool(errors))
    return compare(data, verdict, errors)


def pattern(text: str) -> str:
    """A refusal without what differs from one file to the next."""
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '"…"', text)
    text = re.sub(r"error found in #\d+ byte of \.\.\..*", "", text, flags=re.DOTALL)
    return re.sub(r"-?\d+", "N", text)[:160]


def _shape(path: str) -> str:
    return re.sub(r"\d+", "N", path)


def _blamed(blame: Blame, error: Finding, data: bytes) -> bool:
    path, what = _plain(error.path), _plain(blame.what)
    if error.code == "Y008" and repr(re.split(r"[.\]]", blame.what)[-1]) in error.message:
        return True  # a key twice is told by its name and line
    if blame.way == "path":
        # Lint may be more exact, and what is missing in the file has only its parent there.
        exact = path == what or path.startswith((f"{what}.", f"{what}["))
        return exact or (path == _parent(what) and not _is_there(blame.what, data))
    if blame.way == "end":
        bare = re.sub(r"\[\d+\]", "", what) if "[" not in blame.what else what
        seen = path if "[" in blame.what else re.sub(r"\[\d+\]", "", path)
        return seen == bare or seen.endswith(f".{bare}") or f".{seen}.".find(f".{bare}.") >= 0
    if blame.way == "key":
        if path in ("kind", "apiversion") or error.code in _HEADS:
            return True  # the fields are those of another kind: that one is the mistake
        # A key may hold a dot itself.
        return what in re.split(r"[.\[\]\"]+", path) or f".{path}".endswith(f".{what}")
    if blame.way == "head":
        return path in ("", "apiversion", "kind")
    key = "name" if blame.way == "plugin" else "schedulerName"
    # A single profile without a name has this one, and a plugin without a name has none.
    unsaid = "" if blame.way == "plugin" else "default-scheduler"
    wanted = (blame.what, None) if blame.what == unsaid else (blame.what,)
    return _within(key, wanted, error, data)


def _plain(path: str) -> str:
    """Internal names of fields are capitalized in places, and lint quotes an odd key."""
    return re.sub(r'\["([^"]*)"\]', r".\1", path.lower()).removeprefix(".")


def _parent(path: str) -> str:
    return re.sub(r"(?:^|\.)[^.\[\]]+$|\[\d+\]$", "", path)


def _is_there(path: str, data: bytes) -> bool:
    value = _value(data)
    for name, index in _STEPS.findall(path):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and index and int(index) < len(value):
            value = value[int(index)]
        else:
            return False
    return True


def _value(data: bytes) -> Any:
    documents = read_as_go(data).documents
    return value_of(documents[0]) if documents else None


_STEPS = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def _within(key: str, wanted: tuple[str | None, ...], error: Finding, data: bytes) -> bool:
    """Whether the finding is at or below a mapping that has such a value under the key, or at that
    very value."""
    value = _value(data)
    depth = 0
    for name, index in _STEPS.findall(error.path):
        if depth and isinstance(value, dict) and value.get(key) in wanted:
            return True
        depth += bool(index)
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and index and int(index) < len(value):
            value = value[int(index)]
        else:
            # What is null altogether has no name either.
            return value is None and None in wanted
    return value in wanted or (isinstance(value, dict) and value.get(key) in wanted)
