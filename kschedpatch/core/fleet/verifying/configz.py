"""What a scheduler says of its own configuration under /configz.

Up to 1.35 it shows its inner form, with Go's capitalised names; from 1.36 on the form of the
files. Names are therefore compared without regard to case.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from kschedpatch.core.schedconfig.durations import nanoseconds


class LoadedPlugin(NamedTuple):
    point: str
    name: str
    weight: int


class LoadedProfile(NamedTuple):
    name: str
    plugins: tuple[LoadedPlugin, ...]
    arguments: dict[str, Any]
    """By the plugin's name."""


def loaded_profiles(configz: bytes) -> tuple[LoadedProfile, ...] | None:
    """None where it is no such document."""
    try:
        body = json.loads(configz)
    except (ValueError, RecursionError):
        return None
    config = key(body, "componentconfig")
    profiles = key(config, "profiles")
    if not isinstance(profiles, list):
        return None
    return tuple(_profile(item) for item in profiles if isinstance(item, dict))


def key(value: Any, name: str) -> Any:
    """What a mapping holds under a name, however it is capitalised."""
    if not isinstance(value, dict):
        return None
    return next((item for found, item in value.items() if found.lower() == name.lower()), None)


def _profile(item: dict[str, Any]) -> LoadedProfile:
    plugins = key(item, "plugins")
    listed = key(item, "pluginConfig")
    return LoadedProfile(
        name=str(key(item, "schedulerName") or ""),
        plugins=tuple(_plugins(plugins if isinstance(plugins, dict) else {})),
        arguments={
            str(key(entry, "name")): key(entry, "args")
            for entry in (listed if isinstance(listed, list) else ())
        },
    )


def _plugins(sets: dict[str, Any]) -> Iterator[LoadedPlugin]:
    for point, chosen in sets.items():
        enabled = key(chosen, "enabled")
        for item in enabled if isinstance(enabled, list) else ():
            weight = key(item, "weight")
            yield LoadedPlugin(
                point[:1].lower() + point[1:],
                str(key(item, "name") or ""),
                weight if isinstance(weight, int) else 0,
            )


def differing_arguments(wanted: Any, loaded: Any, path: str = "") -> Iterator[str]:
    """What is asked for and loaded otherwise. What the scheduler does not show (arguments that it
    keeps as raw bytes, for a plugin it has no type of) is no difference."""
    if isinstance(wanted, dict):
        for name, item in wanted.items():
            found = key(loaded, name)
            if found is not None and name not in {"kind", "apiVersion"}:
                yield from differing_arguments(item, found, f"{path}.{name}" if path else name)
    elif isinstance(wanted, list):
        if isinstance(loaded, list) and len(loaded) == len(wanted):
            for at, (one, other) in enumerate(zip(wanted, loaded, strict=True)):
                yield from differing_arguments(one, other, f"{path}[{at}]")
        elif isinstance(loaded, list):
            yield f"{path} has {len(loaded)} entries, not {len(wanted)}"
    elif wanted is not None and not _same(wanted, loaded):
        yield f"{path} is {json.dumps(loaded)[:80]}, not {json.dumps(wanted)[:80]}"


def _same(wanted: Any, loaded: Any) -> bool:
    if wanted == loaded:
        return True
    if isinstance(wanted, str) and isinstance(loaded, str):
        spans = nanoseconds(wanted), nanoseconds(loaded)
        return spans[0] is not None and spans[0] == spans[1]
    return False
