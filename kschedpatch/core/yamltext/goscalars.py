"""What a plain scalar means to the kubelet and the scheduler.

Both read YAML with Go's yaml.v2, a YAML 1.1 with rules of its own: ``yes`` and ``n`` are booleans,
``0644`` is the number 420, ``1:30`` stays a string. A YAML 1.2 library says otherwise, so the
meaning is decided here and checked against recordings of the Go code (fixtures/goyaml).
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

Scalar = None | bool | int | float | str

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(_NULL, None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}

# strconv.ParseInt(s, 0, 64): the prefix chooses the base, and a bare leading zero means octal.
_INT = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|0([0-7]+)|(0|[1-9][0-9]*))"
)
_BASES = ((2, 16), (3, 2), (4, 8), (5, 8), (6, 10))
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# Behind a leading dot strconv.ParseFloat decides alone: an underscore only between two digits.
_DOT_FLOAT = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
# A key's or value's first character decides whether it can be anything but a string.
_HINTS = frozenset("+-.0123456789yYnNtTfFoO~")

_MAX_DIGITS = 400
INT64 = range(-(2**63), 2**63)
_UINT64_END = 2**64


def resolve_plain(text: str) -> Scalar:
    """The value of an unquoted scalar, as JSON brings it on."""
    value = plain_value(text)
    return through_json(value) if isinstance(value, float) else value


def plain_value(text: str) -> Scalar:
    """The same as Go holds it, before it becomes JSON: 1.0 is a float yet, and so is .inf."""
    if text and text[0] not in _HINTS:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "+-.0123456789":
        return _number(text)
    return text


def _number(text: str) -> Scalar:
    if len(text) > _MAX_DIGITS:
        return text  # beyond every number that Go keeps as one, and slow to convert
    digits = text.replace("_", "")
    match = _INT.fullmatch(digits)
    if match is not None:
        group, base = next((g, b) for g, b in _BASES if match[g] is not None)
        value = int(match[group], base)
        if match[1] == "-":
            value = -value
        # The unsigned try takes no sign, so +18446744073709551615 is a float.
        if value in INT64 or (not match[1] and value < _UINT64_END):
            return value
    if _DOT_FLOAT.fullmatch(text) if text[0] == "." else _FLOAT.fullmatch(digits):
        real = float(digits)
        # Out of range: Go keeps the string.
        return text if math.isinf(real) else real
    return text


def through_json(value: float) -> Scalar:
    """A whole float loses its point on its way through JSON: 1.0 and 1e+3 arrive as integers."""
    if value.is_integer() and abs(value) < 1e21:
        return int(Decimal(repr(value)))  # the shortest digits that mean it, as Go prints them
    return value


def key_text(text: str) -> str | None:
    """A plain mapping key as Go turns it into a JSON key; None where it is no name at all.

    Go prints fractions as 32-bit floats and refuses what exceeds 64 bits: nobody means those.
    """
    value = resolve_plain(text)
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() if value in INT64 and _INT.fullmatch(text.replace("_", "")):
            return str(value)
        case _:
            return None
