"""A value of the wrong type, in words."""

from __future__ import annotations

import json
from typing import Any


def mismatch(expected: str, value: Any) -> tuple[str, str]:
    """(message, hint): what is needed and what stands there, and what YAML has made of it."""
    shown = json.dumps(value, ensure_ascii=False)
    shown = shown if len(shown) <= 40 else shown[:37] + "…"
    hint = ""
    if expected == "a string" and isinstance(value, bool | int | float):
        hint = "put it in quotes"
    elif expected in {"a whole number", "true or false"} and isinstance(value, str):
        hint = "remove the quotes"
    return f"{expected} is needed here, this is {shown}", hint
