"""kubectl's jsonpath templates, as far as they are used: paths, [*], range and literals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_PART = re.compile(r"\{([^{}]*)\}|([^{]+)")
_STEP = re.compile(r"\.?([A-Za-z_][\w\\.-]*?)(?=[.\[]|$)|\[(\*|-?\d+|'[^']*')\]")
_ESCAPES = {"\\n": "\n", "\\t": "\t", '\\"': '"'}


def expand(template: str, value: Any) -> str:
    parts = [(match[1], match[2]) for match in _PART.finditer(template)]
    text, _ = _expand(parts, 0, value)
    return text


def _expand(parts: list[tuple[str | None, str | None]], at: int, value: Any) -> tuple[str, int]:
    """The text up to the end of this range, and the place behind it."""
    text = ""
    while at < len(parts):
        expression, literal = parts[at]
        at += 1
        if expression is None:
            text += literal or ""
        elif expression.strip() == "end":
            return text, at
        elif expression.startswith("range "):
            items = list(_values(expression.removeprefix("range ").strip(), value))
            behind = _expand(parts, at, None)[1]
            text += "".join(_expand(parts, at, item)[0] for item in items)
            at = behind
        elif expression[:1] in "\"'":
            text += re.sub(r'\\[nt"]', lambda m: _ESCAPES[m[0]], expression[1:-1])
        else:
            text += " ".join(_shown(found) for found in _values(expression, value))
    return text, at


def _values(path: str, value: Any) -> Iterator[Any]:
    found = [value]
    for match in _STEP.finditer(path.removeprefix("$")):
        key, index = match[1], match[2]
        if key is not None:
            name = key.replace("\\.", ".")
            found = [v[name] for v in found if isinstance(v, dict) and name in v]
        elif index == "*":
            found = [item for v in found if isinstance(v, list) for item in v]
        elif index.startswith("'"):
            found = [v[index[1:-1]] for v in found if isinstance(v, dict) and index[1:-1] in v]
        else:
            found = [v[int(index)] for v in found if isinstance(v, list) and len(v) > int(index)]
    yield from found


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return json.dumps(value)
    return "" if value is None else str(value)
