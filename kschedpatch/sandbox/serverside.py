"""Server-side apply on the simulated API server: lists with keys, and whose fields are whose."""

from __future__ import annotations

import copy
import json
from typing import Any

_KEYS = {
    "containers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "volumeMounts": ("mountPath",),
}
Path = tuple[str, ...]


def _is_keyed(name: str, *values: Any) -> bool:
    return name in _KEYS and all(
        isinstance(value, list) and all(isinstance(item, dict) for item in value)
        for value in values
    )


def _by_key(name: str, items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    names = _KEYS[name]
    return {json.dumps({n: item.get(n) for n in names}): item for item in items}


def merged(present: Any, wanted: Any, name: str = "") -> Any:
    if isinstance(present, dict) and isinstance(wanted, dict):
        both = {key: merged(present.get(key), value, key) for key, value in wanted.items()}
        return {**present, **both}
    if _is_keyed(name, present, wanted):
        there, more = _by_key(name, present), _by_key(name, wanted)
        both = {key: merged(there.get(key), item) for key, item in more.items()}
        return list({**there, **both}.values())
    return copy.deepcopy(wanted)


def without(present: Any, former: Any, wanted: Any, name: str = "") -> Any:
    """The present object without what the former one had and the wanted one has not: what others
    have beside it, in mappings and in lists with keys, stays."""
    if isinstance(present, dict) and isinstance(former, dict):
        wished = wanted if isinstance(wanted, dict) else {}
        kept = {
            key: _left(value, key, former, wished) if key in former else value
            for key, value in present.items()
        }
        return {key: value for key, value in kept.items() if value is not _GONE}
    if _is_keyed(name, present, former):
        there, old = _by_key(name, present), _by_key(name, former)
        new = _by_key(name, wanted) if _is_keyed(name, wanted) else {}
        return [
            without(item, old.get(key), new.get(key))
            for key, item in there.items()
            if key not in old or key in new
        ]
    return present


_GONE: Any = object()


def _left(value: Any, key: str, former: dict[str, Any], wanted: dict[str, Any]) -> Any:
    rest = without(value, former[key], wanted.get(key), key)
    if key in wanted:
        return rest
    parts = isinstance(value, dict) or _is_keyed(key, value)
    return rest if parts and rest else _GONE


def leaves(value: Any, path: Path = ()) -> dict[Path, Any]:
    """Every single value by the path that managed fields write down for it."""
    name = path[-1].removeprefix("f:") if path else ""
    found: dict[Path, Any] = {}
    if isinstance(value, dict) and value:
        for key, item in value.items():
            found |= leaves(item, (*path, f"f:{key}"))
    elif _is_keyed(name, value) and value:
        for key, item in _by_key(name, value).items():
            found |= leaves(item, (*path, f"k:{key}"))
    else:
        found[path] = value
    return found


def tree(paths: set[Path]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for path in paths:
        at = root
        for step in path:
            at = at.setdefault(step, {})
    return root


def told(conflicts: dict[str, list[Path]]) -> str:
    """In the words of the API server."""
    count = sum(map(len, conflicts.values()))
    lines = []
    for manager, paths in sorted(conflicts.items()):
        lines.append(f'conflicts with "{manager}" using apps/v1:')
        lines += [f"- {_shown(path)}" for path in paths]
    if count == 1:
        [(manager, [path])] = conflicts.items()
        lines = [f'conflict with "{manager}" using apps/v1: {_shown(path)}']
    return f"Apply failed with {count} conflict{'s' * (count > 1)}: " + "\n".join(lines)


def _shown(path: Path) -> str:
    return "".join(f".{s[2:]}" if s.startswith("f:") else f"[{s[2:]}]" for s in path)
