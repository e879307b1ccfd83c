"""Rules across profiles: names, and one queueSort for all, because they share one queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kschedpatch.core.schedconfig.framework import effective
from kschedpatch.core.schedconfig.merge import PluginSet, Sets
from kschedpatch.core.schedconfig.surroundings import Decoded
from kschedpatch.core.yamltext.nodes import canonical
from kschedpatch.model.finding import Finding, Path

DEFAULT_SCHEDULER = "default-scheduler"


def scheduler_names(profiles: Sequence[Mapping[str, Any]]) -> list[str]:
    """A single profile without a name is default-scheduler; an empty name is none."""
    default = DEFAULT_SCHEDULER if len(profiles) == 1 else ""
    return [profile.get("schedulerName", default) for profile in profiles]


def name_findings(decoded: Decoded) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for index, name in enumerate(scheduler_names(decoded.profiles)):
        path = ("profiles", index, "schedulerName")
        if not name:
            hint = "each of several profiles needs a name of its own"
            yield decoded.at("C029", path, "the profile has no schedulerName", hint)
        if name in seen:
            message = f"profile {seen[name] + 1} has the same name" + (f", {name}" if name else "")
            yield decoded.at("C029", path, message)
        seen.setdefault(name, index)


def queue_sort_findings(decoded: Decoded, sets: Sequence[Sets]) -> Iterator[Finding]:
    """As they are written: PrioritySort spelt out in one profile and left to the default in
    another counts as different."""
    first = sets[0]["queueSort"]
    if len(first.enabled) > 1:
        path: Path = ("profiles", 0, "plugins", "queueSort", "enabled")
        message = f"only one queueSort plugin can be enabled, not {len(first.enabled)}"
        yield decoded.at("C025", path, message)
    name = first.names[0] if first.names else ""
    for index in range(1, len(sets)):
        if _spelling(first) != _spelling(sets[index]["queueSort"]):
            message = "its queueSort differs from the first profile's"
            path = ("profiles", index, "plugins", "queueSort")
            yield decoded.at("C009", path, message)
        elif _differs_in_args(decoded, index, name):
            message = f"the arguments of {name} differ from the first profile's"
            yield decoded.at("C009", ("profiles", index, "pluginConfig"), message)


def built_sort_findings(decoded: Decoded, sets: Sequence[Sets]) -> Iterator[Finding]:
    """Once more when the profiles are built, then by what multiPoint makes of them."""
    known = [effective(decoded, each, "queueSort") for each in sets]
    if any(unknown or len(names) != 1 for names, unknown in known):
        return
    (first,), _ = known[0]
    for index, ((name,), _) in enumerate(known[1:], 1):
        path = ("profiles", index, "plugins", "queueSort")
        if name != first:
            message = f"its queueSort is {name}, the first profile's is {first}"
            yield decoded.at("C009", path, message)
        elif canonical(_args(decoded, 0, name)) != canonical(_args(decoded, index, name)):
            message = f"the arguments of {name} differ from the first profile's"
            yield decoded.at("C009", ("profiles", index, "pluginConfig"), message)


def _spelling(chosen: PluginSet) -> tuple[object, ...]:
    return tuple((entry.name, entry.weight) for entry in chosen.enabled), chosen.disabled


def _differs_in_args(decoded: Decoded, index: int, name: str) -> bool:
    """Only a profile that gives arguments can differ."""
    own = [item for item in _settings(decoded, index) if item.get("name", "") == name]
    theirs = _args(decoded, 0, name) if name else None
    return any(canonical(item.get("args")) != canonical(theirs) for item in own)


def _settings(decoded: Decoded, index: int) -> Sequence[Mapping[str, Any]]:
    return decoded.profiles[index].get("pluginConfig") or ()


def _args(decoded: Decoded, index: int, name: str) -> Any:
    settings = _settings(decoded, index)
    return next((item.get("args") for item in settings if item.get("name", "") == name), None)
