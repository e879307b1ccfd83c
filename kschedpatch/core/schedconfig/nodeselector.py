"""Node selectors in plugin arguments, as far as the scheduler compiles them at its start."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kschedpatch.model.finding import Path
from kschedpatch.model.grammar import is_label_value, is_qualified_name

Problem = tuple[Path, str]
_INTEGER = re.compile(r"[-+]?[0-9]{1,40}", re.ASCII)
_INT64 = range(-(2**63), 2**63)


def affinity_problems(affinity: Mapping[str, Any]) -> Iterator[Problem]:
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = (affinity.get(key) or {}).get("nodeSelectorTerms") or ()
    for at, term in enumerate(terms):
        for path, message in _term(term):
            yield (key, "nodeSelectorTerms", at, *path), message
    key = "preferredDuringSchedulingIgnoredDuringExecution"
    for at, preferred in enumerate(affinity.get(key) or ()):
        if preferred.get("weight", 0) == 0:
            continue  # never looked at
        for path, message in _term(preferred.get("preference") or {}):
            yield (key, at, "preference", *path), message


def _term(term: Mapping[str, Any]) -> Iterator[Problem]:
    for at, expression in enumerate(term.get("matchExpressions") or ()):
        for path, message in _expression(expression):
            yield ("matchExpressions", at, *path), message
    for at, expression in enumerate(term.get("matchFields") or ()):
        operator, values = expression.get("operator", ""), expression.get("values") or []
        if operator not in ("In", "NotIn"):
            yield ("matchFields", at, "operator"), f"{operator!r} is neither In nor NotIn"
        elif len(values) != 1:
            yield ("matchFields", at, "values"), f"exactly one value is needed, not {len(values)}"


def _expression(expression: Mapping[str, Any]) -> Iterator[Problem]:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if operator not in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"):
        yield ("operator",), f"{operator!r} is none of In, NotIn, Exists, DoesNotExist, Gt, Lt"
        return
    key = expression.get("key", "")
    if not is_qualified_name(key):
        yield ("key",), f"{key!r} can't be a label's name"
    if operator in ("In", "NotIn") and not values:
        yield ("values",), f"{operator} needs values"
    elif operator in ("Exists", "DoesNotExist") and values:
        yield ("values",), f"{operator} takes no values"
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield ("values",), f"{operator} needs exactly one value"
        for at, value in enumerate(values):
            if not (_INTEGER.fullmatch(value) and int(value) in _INT64):
                yield ("values", at), f"{operator} compares whole numbers, {value!r} is none"
    for at, value in enumerate(values):
        if not is_label_value(value):
            yield ("values", at), f"{value!r} can't be a label's value"
