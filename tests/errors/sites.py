"""Where error messages are built: every call of a family in the package with words of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.errors.families import AREAS, FAMILIES, Family
from tests.errors.templates import Module, has_words, last_name

PACKAGE = Path(__file__).parents[2] / "kschedpatch"


class Site(NamedTuple):
    file: str
    """Below the package."""
    first: int
    last: int
    name: str
    """Of the class or function that is called."""
    message: str
    hint: str
    area: str

    @property
    def key(self) -> str:
        """What it is known by: lines move."""
        return f"{self.file}: {self.message}"


#: Most modules build none: they need not be parsed.
_ANY = re.compile(r"\b(" + "|".join(sorted({family.name for family in FAMILIES})) + r")\(")


def _calls(module: Module) -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            found.setdefault(last_name(node.func), []).append(node)
    return found


def _counts(family: Family, module: str) -> bool:
    if family.only_in:
        return module in family.only_in
    return not family.name.startswith("_") or module == family.module


def _argument(call: ast.Call, place: int | None, name: str) -> ast.expr | None:
    if place is None:
        return None
    if place < len(call.args):
        return call.args[place]
    return next((item.value for item in call.keywords if item.arg == name), None)


def sites_in(name: str, source: str, file: str) -> Iterator[Site]:
    if not _ANY.search(source):
        return
    module = Module(name, source)
    calls = _calls(module)
    for area in AREAS:
        for family in area.families:
            for call in calls.get(family.name, ()) if _counts(family, name) else ():
                words = _argument(call, family.message, family.message_name)
                message = module.template(words) if words is not None else ""
                if not has_words(message):
                    continue
                hint = _argument(call, family.hint, "hint")
                advice = module.template(hint) if hint is not None else ""
                last = call.end_lineno or call.lineno
                yield Site(file, call.lineno, last, family.name, message, advice, area.title)


@cache
def sites() -> tuple[Site, ...]:
    found: list[Site] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        below = path.relative_to(PACKAGE)
        name = ".".join(("kschedpatch", *below.with_suffix("").parts))
        found += sites_in(name, path.read_text("utf-8"), str(below))
    return tuple(found)
