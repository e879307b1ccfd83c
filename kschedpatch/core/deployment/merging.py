"""Objects as server-side apply sees them: lists whose items are known by a key, and whole values.

``addition`` is the least that has to be applied to get from one object to another, ``unapplied``
is an object without what was applied, and ``conflicts`` says whose fields would be taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from kschedpatch.core.objects.marks import LAST_APPLIED, MANAGER
from kschedpatch.model.clusterplan import Object

#: Lists of a pod that are merged item by item; all others are replaced as a whole.
_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "volumeMounts": ("mountPath",),
    "ports": ("containerPort", "protocol"),
    "imagePullSecrets": ("name",),
}
_DEFAULTS = {"protocol": "TCP"}
_NOTHING: Any = object()


def _key(item: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: item.get(name, _DEFAULTS.get(name)) for name in names}


def _is_merged(name: str, value: Any) -> bool:
    return name in _KEYS and isinstance(value, list) and all(isinstance(i, dict) for i in value)


def _find(items: Any, wanted: dict[str, Any], names: tuple[str, ...]) -> Any:
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and _key(item, names) == wanted:
            return item
    return None


def addition(base: Object, wanted: Object) -> Object:
    """What is in ``wanted`` and not so in ``base``. Nothing can be taken away by applying."""
    found = _added(base, wanted, "")
    return {} if found is _NOTHING else found


def _added(base: Any, wanted: Any, name: str) -> Any:
    if base == wanted:
        return _NOTHING
    if isinstance(base, dict) and isinstance(wanted, dict):
        parts = {key: _added(base.get(key), value, key) for key, value in wanted.items()}
        found = {key: value for key, value in parts.items() if value is not _NOTHING}
        return found or _NOTHING
    if _is_merged(name, wanted) and isinstance(base, list):
        names = _KEYS[name]
        items = []
        for item in wanted:
            there = _find(base, _key(item, names), names)
            more = item if there is None else _added(there, item, "")
            if more is not _NOTHING:
                keys = {key: item[key] for key in names if key in item}
                items.append({**keys, **more})
        return items or _NOTHING
    return wanted


def given_back(base: Object, former: Object, more: Object) -> Object:
    """``more``, and the base's own values where the former document had others. What an earlier
    apply has set, and the next does not name, is removed: an image would be gone."""
    found: Object = _overlaid(_at_paths(base, former, ""), more, "")
    return found


def _at_paths(base: Any, former: Any, name: str) -> Any:
    if isinstance(base, dict) and isinstance(former, dict):
        parts = {k: _at_paths(base[k], value, k) for k, value in former.items() if k in base}
        # Of what was all ours nothing is left to be named.
        return {k: value for k, value in parts.items() if value not in ({}, []) or base[k] == value}
    if _is_merged(name, former) and isinstance(base, list):
        names = _KEYS[name]
        pairs = [(item, _find(base, _key(item, names), names)) for item in former]
        return [_at_paths(there, item, "") for item, there in pairs if there is not None]
    return base


def _overlaid(under: Any, over: Any, name: str) -> Any:
    if isinstance(under, dict) and isinstance(over, dict):
        both = {key: _overlaid(under.get(key), value, key) for key, value in over.items()}
        return {**under, **both}
    if _is_merged(name, over) and isinstance(under, list):
        names = _KEYS[name]
        kept = [item for item in under if _find(over, _key(item, names), names) is None]
        found = ((item, _find(under, _key(item, names), names)) for item in over)
        return [*kept, *(_overlaid(there or {}, item, "") for item, there in found)]
    return over


def unapplied(live: Object, applied: Object, original: Object) -> Object:
    """``live`` as it would be had nobody applied that: the original's values are back where ours
    still stand; what others have changed since stays theirs."""
    result = dict(live)
    for name, ours in applied.items():
        if name not in live:
            continue
        there, before = live[name], original.get(name, _NOTHING)
        if isinstance(ours, dict) and isinstance(there, dict) and isinstance(before, dict):
            result[name] = unapplied(there, ours, before)
        elif _is_merged(name, ours) and isinstance(there, list):
            items = _without(there, ours, before if isinstance(before, list) else [], name)
            result[name] = items
            if not items and before is _NOTHING:
                del result[name]
        elif before is _NOTHING and (there == ours or isinstance(ours, dict)):
            del result[name]
        elif there == ours:
            result[name] = before
    return result


def _without(live: list[Any], ours: list[Any], original: list[Any], name: str) -> list[Any]:
    names = _KEYS[name]
    kept = []
    for item in live:
        wanted = _key(item, names)
        applied, before = _find(ours, wanted, names), _find(original, wanted, names)
        if applied is None:
            kept.append(item)
        elif before is not None:
            kept.append(unapplied(item, applied, before))
        # What we have put there is ours, whatever defaults the API server has given it.
    return kept


def with_client_side_fields(document: Object, live: Object) -> Object:
    """The document with all that `kubectl apply` without --server-side has set. kubectl makes that
    the field manager's whose server-side apply comes after it, whoever that is, and applies once
    more: what the document does not name would be removed."""
    entries = [
        entry
        for entry in (live.get("metadata") or {}).get("managedFields") or ()
        if entry.get("operation") == "Update" and not entry.get("subresource")
    ]
    annotation = ("metadata", "annotations", LAST_APPLIED)
    managers = {e.get("manager") for e in entries if _owns(e.get("fieldsV1"), annotation)}
    found: Object = {}
    for entry in entries:
        if entry.get("manager") in managers - {MANAGER}:
            found = _overlaid(found, _owned_values(live, entry.get("fieldsV1") or {}), "")
    whole: Object = _overlaid(found, document, "")
    return whole


def _owned_values(live: Any, fields: dict[str, Any]) -> Any:
    """What a manager has set, with the values that stand there."""
    steps = {key: below for key, below in fields.items() if key != "."}
    if not steps:
        return live
    if isinstance(live, dict):
        names = {key[2:]: below for key, below in steps.items() if key.startswith("f:")}
        return {name: _owned_values(live[name], b) for name, b in names.items() if name in live}
    if isinstance(live, list):
        items = []
        for key, below in steps.items():
            wanted = _names(key)
            there = _find(live, wanted, tuple(wanted)) if isinstance(wanted, dict) else None
            if there is not None:
                items.append({**wanted, **_owned_values(there, below)})
        return items or live
    return live


class Conflict(NamedTuple):
    manager: str
    field: str


def conflicts(document: Object, live: Object) -> tuple[Conflict, ...]:
    """Fields that somebody else has set, to something else than what is to be applied. The API
    server has the last word; this names them before it is asked."""
    entries = [
        (str(entry.get("manager")), entry.get("fieldsV1"))
        for entry in (live.get("metadata") or {}).get("managedFields") or ()
        if isinstance(entry, dict) and entry.get("manager") != MANAGER
    ]
    found = {
        Conflict(manager, _shown(path)): None
        for path in _differing(document, live, ())
        for manager, fields in entries
        if _owns(fields, path)
    }
    return tuple(found)


Step = str | dict[str, Any]


def _differing(wanted: Any, live: Any, path: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    name = path[-1] if path else ""
    if isinstance(wanted, dict) and isinstance(live, dict):
        for key, value in wanted.items():
            if key in live:
                yield from _differing(value, live[key], (*path, key))
    elif isinstance(name, str) and _is_merged(name, wanted) and isinstance(live, list):
        names = _KEYS[name]
        for item in wanted:
            key = _key(item, names)
            there = _find(live, key, names)
            if there is not None:
                yield from _differing(item, there, (*path, key))
    elif wanted != live:
        yield path


def _owns(fields: Any, path: tuple[Step, ...]) -> bool:
    """Whether a manager's fields, as the API server writes them down, hold this one."""
    for step in path:
        if not isinstance(fields, dict):
            return False
        if isinstance(step, str):
            fields = fields.get(f"f:{step}", _NOTHING)
        else:
            fields = next((fields[key] for key in fields if _names(key) == step), _NOTHING)
        if fields is _NOTHING:
            return False
    return True


def _names(key: str) -> Any:
    try:
        return json.loads(key[2:]) if key.startswith("k:") else None
    except ValueError:
        return None


def _shown(path: tuple[Step, ...]) -> str:
    """As kubectl writes it: ``.spec.template.spec.containers[name="x"].image``."""
    text = ""
    for step in path:
        if isinstance(step, str):
            text += f".{step}"
        else:
            text += "[" + ",".join(f"{k}={json.dumps(v)}" for k, v in step.items()) + "]"
    return text
