"""Fields and types of the configuration, as every minor's own Go types have them.

``configfields.json`` is made by fixtures/oracles/configfields from k8s.io/kube-scheduler.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

#: Type, or with it the first minor and the first one without it again (None: it is still there).
Field = str | tuple[str, int, int | None]
Types = dict[str, dict[str, Field]]


@cache
def _versions() -> dict[str, Types]:
    # importlib.resources would cost more than everything else here.
    text = Path(__file__).with_name("configfields.json").read_text("utf-8")
    versions: dict[str, Types] = json.loads(text)
    return versions


def types_of(version: str) -> Types:
    """The types of one version of the configuration, by name."""
    return _versions()[version]


def type_name(field: Field) -> str:
    return field if isinstance(field, str) else field[0]


def exists(field: Field, minor: int) -> bool:
    if isinstance(field, str):
        return True
    _, since, gone = field
    return since <= minor and (gone is None or minor < gone)


def has_field(version: str, minor: int, kind: str, field: str) -> bool:
    """Whether this minor reads such a field in a type of this version."""
    known = types_of(version).get(kind, {}).get(field)
    return known is not None and exists(known, minor)


def args_kind(version: str, minor: int, plugin: str) -> str | None:
    """The kind of a plugin's arguments; None where the scheduler leaves them to the plugin."""
    kind = f"{plugin}Args"
    fields = types_of(version).get(kind)
    # Every kind has a field `kind` of its own, as old as itself.
    return kind if fields is not None and exists(fields["kind"], minor) else None
