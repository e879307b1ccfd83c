"""What a scalar is to Go, by its tag or without one, and what its value becomes as a JSON key."""

from __future__ import annotations

import binascii
import math
import re
import struct
from datetime import date

from kschedpatch.core.yamltext.goscalars import INT64, Scalar, plain_value
from kschedpatch.core.yamltext.goyaml.characters import decoded_as_go
from kschedpatch.core.yamltext.goyaml.cursor import Refused
from kschedpatch.core.yamltext.goyaml.tree import Raw

_YAML = "tag:yaml.org,2002:"
_STR, _BINARY, _FLOAT, _TIME = (_YAML + name for name in ("str", "binary", "float", "timestamp"))
#: Tags that say what a value must be. Any other makes it a string, whatever stands there.
_RESOLVED = {_YAML + name for name in ("bool", "int", "float", "null", "timestamp")}
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt][0-9:.,]+(?:Z|[-+][0-9]{2}:[0-9]{2})| [0-9:.,]+)(?<=[0-9Z]))?"
)
_CLOCK = re.compile(r"[Tt ]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?(?=Z|[-+]|$)")


def short_tag(tag: str) -> str:
    return "!!" + tag.removeprefix(_YAML) if tag.startswith(_YAML) else tag


def is_merge(raw: Raw) -> bool:
    is_plain = (not raw.tag and not raw.style) or raw.tag == "!"
    return raw.kind == "scalar" and raw.value == "<<" and (is_plain or raw.tag == _YAML + "merge")


def scalar_value(raw: Raw) -> Scalar:
    """The value as Go holds it: floats are floats still, whole ones as well."""
    text, tag = raw.value, raw.tag
    if tag == "":
        return text if raw.style else plain_value(text)
    if tag == _BINARY:
        return _decoded(raw)
    if tag not in _RESOLVED:
        return text
    value = plain_value(text)
    if tag == _TIME and _is_timestamp(text):
        return text
    if tag == _FLOAT and type(value) is int and value in INT64:
        return float(value)
    if tag != _tag_of(value):
        kind = short_tag(_tag_of(value))
        raise Refused("Y009", f"{text[:40]!r} is a {kind}, not a {short_tag(tag)}", raw.start)
    return value


def _tag_of(value: Scalar) -> str:
    names = {bool: "bool", int: "int", float: "float", type(None): "null", str: "str"}
    return _YAML + names[type(value)]


def _decoded(raw: Raw) -> str:
    plain = raw.value.replace("\r", "").replace("\n", "")
    try:
        data = binascii.a2b_base64(plain, strict_mode=True)
    except (binascii.Error, ValueError):
        raise Refused("Y009", "!!binary with something that is no base64", raw.start) from None
    return decoded_as_go(data)


def _is_timestamp(text: str) -> bool:
    day = _TIMESTAMP.fullmatch(text)
    clock = _CLOCK.search(text)
    if day is None or (len(text) > day.end(3) and clock is None):
        return False
    if clock is not None and any(int(clock[i]) >= end for i, end in ((1, 24), (2, 60), (3, 60))):
        return False
    try:
        date(int(day[1]) or 4, int(day[2]), int(day[3]))  # year 0 leaps, and is none to Python
    except ValueError:
        return False
    return True


def key_name(value: Scalar, raw: Raw) -> str:
    """A key as JSON has it."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return _as_float32(value)
        case int() if value in INT64:
            return str(value)
        case None:
            raise Refused("Y015", "null as a key", raw.start)
    raise Refused("Y015", f"the key {raw.value} has more than 64 bits", raw.start)


def _as_float32(value: float) -> str:
    """Go prints the least digits that tell two floats of 32 bits apart."""
    try:
        (short,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        short = math.copysign(math.inf, value)
    if math.isnan(short):
        return ".nan"
    if math.isinf(short):
        return ".inf" if short > 0 else "-.inf"
    for digits in range(9):
        shown = f"{short:.{digits}e}"
        if struct.pack("f", float(shown)) == struct.pack("f", short):
            break
    mantissa, exponent = shown.split("e")
    if -4 <= int(exponent) < 6:
        places = max(0, len(mantissa.partition(".")[2]) - int(exponent))
        return f"{float(shown):.{places}f}"
    return shown
