"""Fields and types of a Pod, as every minor's own Go types have them.

``podfields.json`` is made by fixtures/oracles/podfields from k8s.io/api. The kubelet drops a field
that it does not know without a word and drops the whole pod for a wrong type; both are errors here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from kschedpatch.core.manifest.quantity import quantity
from kschedpatch.core.yamltext.mismatch import mismatch
from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.finding import Finding, Path

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_RANGES = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}

_HOMES = {
    "PodSpec": "spec",
    "Container": "a container",
    "ObjectMeta": "metadata",
    "Volume": "a volume",
    "VolumeMount": "a volumeMount",
    "Probe": "a probe",
}

Field = tuple[str, int, int | None]


@cache
def _types() -> dict[str, dict[str, Field]]:
    text = files("kschedpatch.core.manifest").joinpath("podfields.json").read_text("utf-8")
    types: dict[str, dict[str, Field]] = json.loads(text)["types"]
    return types


def fields_of(kind: str) -> frozenset[str]:
    return frozenset(_types()[kind])


def schema_findings(pod: Any, minor: int | None, places: Places) -> Iterator[Finding]:
    """Unknown fields, fields of another minor, values of the wrong type."""
    yield from _check("Pod", pod, (), minor, places)


def _check(
    kind: str, value: Any, path: Path, minor: int | None, places: Places
) -> Iterator[Finding]:
    if value is None:
        return  # null is «not set» for every field
    if kind.startswith("[]"):
        if not isinstance(value, list):
            yield _wrong(places, path, "a list", value)
            return
        for index, item in enumerate(value):
            yield from _check(kind[2:], item, (*path, index), minor, places)
    elif kind.startswith("map[string]"):
        if not isinstance(value, dict):
            yield _wrong(places, path, "a mapping", value)
            return
        for key, item in value.items():
            yield from _check(kind.removeprefix("map[string]"), item, (*path, key), minor, places)
    elif kind in _types():
        if not isinstance(value, dict):
            yield _wrong(places, path, "a mapping", value)
            return
        yield from _check_struct(_types()[kind], value, path, minor, places)
    else:
        expected = _expected(kind, value)
        if expected:
            yield _wrong(places, path, expected, value)


def _check_struct(
    fields: dict[str, Field], value: dict[str, Any], path: Path, minor: int | None, places: Places
) -> Iterator[Finding]:
    for key, item in value.items():
        here = (*path, key)
        field = fields.get(key)
        if field is None:
            near = get_close_matches(key, fields, n=1, cutoff=0.6)
            hint = f"did you mean {near[0]}?" if near else _owner_hint(key)
            yield places.at_key("M003", here, f"the kubelet knows no field {key!r} here", hint)
            continue
        kind, since, until = field
        if minor is not None and minor < since:
            message = f"{key} exists from Kubernetes 1.{since} on, and this is 1.{minor}"
            yield places.at_key("M027", here, message)
        elif minor is not None and until is not None and minor >= until:
            message = f"{key} is gone from Kubernetes 1.{until} on, and this is 1.{minor}"
            yield places.at_key("M027", here, message)
        yield from _check(kind, item, here, minor, places)


def _owner_hint(key: str) -> str:
    """A right field in the wrong place is mostly a slip of indentation: say where it belongs."""
    for kind, place in _HOMES.items():
        if key in _types()[kind]:
            return f"{key} belongs into {place}: is the indentation right?"
    return ""


def _expected(kind: str, value: Any) -> str:
    """What should stand there, if it is not what stands there; empty where it fits."""
    match kind:
        case "string" | "bytes":
            return "" if isinstance(value, str) else "a string"
        case "bool":
            return "" if isinstance(value, bool) else "true or false"
        case "int32" | "int64":
            whole = isinstance(value, int) and not isinstance(value, bool)
            return "" if whole and value in _RANGES[kind] else "a whole number"
        case "IntOrString":
            if isinstance(value, int) and not isinstance(value, bool):
                return "" if value in _RANGES["int32"] else "a port number"
            return "" if isinstance(value, str) else "a number or a name"
        case "Quantity":
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                return "a quantity"
            return "" if quantity(value) is not None else "a quantity such as 100m or 1Gi"
        case "Time" | "MicroTime":
            fits = isinstance(value, str) and _is_time(value)
            return "" if fits else "a time such as 2026-01-31T08:00:00Z"
        case _:
            return ""


def _is_time(text: str) -> bool:
    """RFC 3339, and a day and an hour that exist."""
    try:
        return _TIME.fullmatch(text) is not None and bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def _wrong(places: Places, path: Path, expected: str, value: Any) -> Finding:
    return places.at("M004", path, *mismatch(expected, value))
