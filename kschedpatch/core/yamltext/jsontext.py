"""A text that starts with a brace is JSON to the kubelet and the scheduler, not YAML."""

from __future__ import annotations

import json
from typing import Any


def starts_as_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def json_value(text: str) -> Any:
    """ValueError where it is no JSON, with ``lineno`` where that is known."""
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
