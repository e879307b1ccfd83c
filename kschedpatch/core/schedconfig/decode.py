"""Strict decoding as the scheduler's own decoder does it: case counts, every field must be known,
and nothing is converted. Null is «not set» everywhere but for a duration.

The result holds known fields only: durations in nanoseconds, base64 as bytes, null left out.
"""

from __future__ import annotations

import binascii
from difflib import get_close_matches
from typing import Any, NamedTuple

from kschedpatch.core.schedconfig.durations import nanoseconds
from kschedpatch.core.schedconfig.gotypes import Types, exists, type_name
from kschedpatch.core.schedconfig.read import ConfigText
from kschedpatch.core.yamltext.mismatch import mismatch
from kschedpatch.model.finding import Finding, Path

_RANGES = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}
_FLOAT32_MAX = 3.4028235677973366e38  # what rounds to more is out of range
_ENOUGH_HINTS = 20  # looking for the nearest name is slow
_ZERO = {"string": "", "bool": False, "int32": 0, "int64": 0, "float32": 0.0, "bytes": b""}


class Decoder(NamedTuple):
    config: ConfigText
    types: Types
    version: str
    minor: int
    findings: list[Finding]

    def decode(self, kind: str, value: Any, path: Path) -> Any:
        """The value as Go holds it; what does not fit is a finding, and left out as null is."""
        if value is None:
            if kind == "Duration":
                self.wrong(path, "a duration such as 15s", value)
            return None
        if kind == "RawExtension":
            return value
        if kind.startswith("[]"):
            return self._list(kind[2:], value, path)
        if kind.startswith("map[string]"):
            return self._map(kind.removeprefix("map[string]"), value, path)
        if kind in self.types:
            return self._struct(kind, value, path)
        return self._scalar(kind.removeprefix("*"), value, path)

    def _list(self, kind: str, value: Any, path: Path) -> list[Any] | None:
        if not isinstance(value, list):
            self.wrong(path, "a list", value)
            return None
        items = (self.decode(kind, item, (*path, at)) for at, item in enumerate(value))
        return [self._zero(kind) if item is None else item for item in items]

    def _zero(self, kind: str) -> Any:
        return {} if kind in self.types else _ZERO.get(kind)

    def _map(self, kind: str, value: Any, path: Path) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            self.wrong(path, "a mapping", value)
            return None
        decoded = {key: self.decode(kind, item, (*path, key)) for key, item in value.items()}
        return {key: self._zero(kind) if i is None else i for key, i in decoded.items()}

    def _struct(self, kind: str, value: Any, path: Path) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            self.wrong(path, "a mapping", value)
            return None
        fields = self.types[kind]
        result = {}
        for key, item in value.items():
            name = self.field_name(kind, key)
            field = fields.get(name)
            if field is None or not exists(field, self.minor):
                self.unknown(kind, key, (*path, key))
                continue
            decoded = self.decode(type_name(field), item, (*path, key))
            if decoded is not None:
                result[name] = decoded
        return result

    def field_name(self, kind: str, key: str) -> str:  # noqa: ARG002  other decoders look at it
        """The field that a key stands for."""
        return key

    def unknown(self, kind: str, key: str, path: Path) -> None:
        fields = self.types[kind]
        field = fields.get(key)
        if field is not None and not isinstance(field, str):
            _, since, gone = field
            message = f"{self.version} has no {key} in 1.{self.minor}"
            message += (
                f", it comes with 1.{since}" if self.minor < since else f", it went with 1.{gone}"
            )
            self.findings.append(self.config.at_key("C019", path, message))
            return
        enough = len(self.findings) >= _ENOUGH_HINTS
        near = [] if enough else get_close_matches(key[:40], fields, n=1, cutoff=0.6)
        same = [name for name in fields if name.lower() == key.lower()]
        hint = f"did you mean {(same or near)[0]}?" if same or near else ""
        message = f"there is no field {key!r} here"
        self.findings.append(self.config.at_key("C021", path, message, hint))

    def _scalar(self, kind: str, value: Any, path: Path) -> Any:
        decoded, expected = _scalar(kind, value)
        if expected:
            self.wrong(path, expected, value)
        return decoded

    def wrong(self, path: Path, expected: str, value: Any) -> None:
        self.findings.append(self.config.at("C018", path, *mismatch(expected, value)))


def _scalar(kind: str, value: Any) -> tuple[Any, str]:
    """(the value, what should stand there instead)."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "string":
            return (value, "") if isinstance(value, str) else (None, "a string")
        case "bool":
            return (value, "") if isinstance(value, bool) else (None, "true or false")
        case "int32" | "int64":
            whole = is_number and isinstance(value, int)
            if whole and value not in _RANGES[kind]:
                return None, f"a whole number of {kind[3:]} bits"
            return (value, "") if whole else (None, "a whole number")
        case "float32":
            fits = is_number and abs(value) < _FLOAT32_MAX
            return (float(value), "") if fits else (None, "a number")
        case "Duration":
            span = nanoseconds(value) if isinstance(value, str) else None
            return span, "" if span is not None else "a duration such as 15s"
        case "bytes":
            return _bytes(value)
    raise ValueError(kind)


def _bytes(value: Any) -> tuple[bytes | None, str]:
    if isinstance(value, list):
        fits = all(isinstance(i, int) and not isinstance(i, bool) and 0 <= i < 256 for i in value)
        return (bytes(value), "") if fits else (None, "base64 text")
    if not isinstance(value, str):
        return None, "base64 text"
    try:
        # Go's decoder skips line breaks, and nothing else.
        plain = value.replace("\r", "").replace("\n", "")
        return binascii.a2b_base64(plain, strict_mode=True), ""
    except (binascii.Error, ValueError):
        return None, "base64 text"
