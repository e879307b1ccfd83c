"""A plan for all nodes as the text of a file, and back: exact, versioned, and strict when read.

Small files are in it; large ones (a binary, an archive) stay where they are and are named by
path and hash. Reading and writing the file itself is for others.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from kschedpatch.core.generation import make_generation
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.sources import SourceFile

API_VERSION = "kschedpatch.io/v1"
KIND = "FleetPlan"
FORMAT = 4
MAX_BYTES = 64 * 1024 * 1024
_BASE64 = "base64"

T = TypeVar("T")


class _Broken(Exception):
    """Where a plan file is not as it should be."""


class DecodedPlan(NamedTuple):
    plan: FleetPlan | None
    findings: tuple[Finding, ...]


def encode(plan: FleetPlan) -> str:
    body = {"apiVersion": API_VERSION, "kind": KIND, "format": FORMAT, "plan": _plain(plan)}
    return json.dumps(body, indent=1) + "\n"


def decode(data: bytes, file: str) -> DecodedPlan:
    try:
        body = json.loads(data)
        if not isinstance(body, dict) or body.get("kind") != KIND:
            raise _Broken("it is no plan of kschedpatch")  # noqa: TRY301
        if body.get("apiVersion") != API_VERSION or body.get("format") != FORMAT:
            raise _Broken(f"its format is {body.get('format')!r}, this version reads {FORMAT}")  # noqa: TRY301
        plan = _value(FleetPlan, body.get("plan"), "plan")
        _check(plan)
    except (ValueError, RecursionError):
        return DecodedPlan(None, (found("N301", "it is no JSON", file=file, hint="plan again"),))
    except _Broken as error:
        return DecodedPlan(None, (found("N301", str(error), file=file, hint="plan again"),))
    return DecodedPlan(plan, ())


def large_files(plan: FleetPlan) -> tuple[SourceFile, ...]:
    """The local files that the plan only names: they must still have their hash."""
    staged = (
        item.file
        for node in plan.nodes
        if node.generation is not None
        for item in node.generation.files
        if item.file.content is None
    )
    archives = (node.archive.file for node in plan.nodes if node.archive is not None)
    return tuple(dict.fromkeys((*staged, *archives)))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: _plain(item) for key, item in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return {_BASE64: base64.b64encode(value).decode()}
    return str(value) if isinstance(value, Enum) else value


def _value(kind: Any, value: Any, path: str) -> Any:
    """A value of exactly this type, or _Broken."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in arguments:
            return None
        return _value(next(item for item in arguments if item is not NoneType), value, path)
    if origin is tuple:
        return _tuple(arguments, value, path)
    if origin is dict:
        return _is(dict, value, path)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return _named_tuple(kind, value, path)
    if kind is bytes:
        return _bytes(value, path)
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError:
            raise _Broken(f"{path} has an unknown value") from None
    return _is(kind, value, path)


def _is(kind: type[T], value: Any, path: str) -> T:
    if type(value) is not kind:  # True is no number here
        raise _Broken(f"{path} is missing, or of another type")
    return value


def _tuple(arguments: tuple[Any, ...], value: Any, path: str) -> tuple[Any, ...]:
    items = _is(list, value, path)
    if arguments[-1] is Ellipsis:
        arguments = arguments[:1] * len(items)
    if len(items) != len(arguments):
        raise _Broken(f"{path} has {len(items)} items")
    pairs = zip(arguments, items, strict=True)
    return tuple(_value(kind, item, f"{path}[{at}]") for at, (kind, item) in enumerate(pairs))


def _named_tuple(kind: Any, value: Any, path: str) -> Any:
    fields = _is(dict, value, path)
    hints = _fields(kind)
    if set(fields) != set(hints):
        odd = ", ".join(sorted(set(fields) ^ set(hints)))[:80]
        raise _Broken(f"{path} has not the keys that it should have ({odd})")
    return kind(**{key: _value(hints[key], fields[key], f"{path}.{key}") for key in hints})


@cache
def _fields(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _bytes(value: Any, path: str) -> bytes:
    text = value.get(_BASE64) if isinstance(value, dict) and len(value) == 1 else None
    try:
        return base64.b64decode(_is(str, text, path), validate=True)
    except (binascii.Error, ValueError):
        raise _Broken(f"{path} is no base64") from None


def _check(plan: FleetPlan) -> None:
    """Hashes say what they should: a file that somebody has edited is no plan any more."""
    for node in plan.nodes:
        if node.generation is None:
            continue
        for item in node.generation.files:
            content = item.file.content
            if content is not None and hashlib.sha256(content).hexdigest() != item.file.sha256:
                raise _Broken(f"{item.name} has not the hash that the plan says")
        if make_generation(node.generation.files) != node.generation:
            raise _Broken(f"generation {node.generation.id[:32]} holds other files than it says")
