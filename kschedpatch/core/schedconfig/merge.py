"""Merges a profile's plugin sets over the defaults of its version, as the scheduler does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from kschedpatch.core.kubeversions.plugins import (
    POINTS,
    Weighted,
    default_plugins,
    plugin_points,
)
from kschedpatch.model.finding import Path

EVERY = "*"


class Entry(NamedTuple):
    name: str
    weight: int
    path: Path | None
    """Where the user enables it; None for a default."""


class PluginSet(NamedTuple):
    enabled: tuple[Entry, ...] = ()
    disabled: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self.enabled)


Sets = Mapping[str, PluginSet]


def forgotten_points(version: str) -> tuple[str, ...]:
    """Sets that a version has and the scheduler never merges: whatever they say is lost."""
    return {"v1beta2": ("multiPoint", "preEnqueue"), "v1beta3": ("preEnqueue",)}.get(version, ())


def merged_sets(
    profile: Mapping[str, Any], path: Path, version: str, minor: int, gates: frozenset[str]
) -> Sets:
    """The sets of a decoded profile by extension point, multiPoint among them."""
    plugins = profile.get("plugins")
    if plugins is None:
        return _default_sets(version, minor, gates)
    defaults = default_plugins(version, minor, gates)
    result = {}
    for point in ("multiPoint", *POINTS):
        own = defaults.get(point, ())
        here = (*path, "plugins", point)
        merge = _appended if version == "v1beta1" else _merged
        given = {} if point in forgotten_points(version) else plugins.get(point) or {}
        merged = merge(own, given, here)
        # Older ones do not keep what was disabled: they have no multiPoint to keep it from.
        forgets = version in {"v1beta1", "v1beta2"}
        result[point] = merged._replace(disabled=()) if forgets else merged
    return result


@cache
def _default_sets(version: str, minor: int, gates: frozenset[str]) -> Sets:
    defaults = default_plugins(version, minor, gates)
    return {
        point: PluginSet(tuple(Entry(*pair, None) for pair in defaults.get(point, ())))
        for point in ("multiPoint", *POINTS)
    }


def taken(sets: Sets, point: str) -> frozenset[str] | None:
    """Names that multiPoint does not bring to a point; None where it brings none at all."""
    there = sets[point]
    return None if EVERY in there.disabled else frozenset((*there.disabled, *there.names))


def entries_at(sets: Sets, point: str, minor: int) -> list[Entry]:
    """What runs at a point. Of multiPoint, the scheduler's own plugins: only a foreign one itself
    knows its points."""
    spoken_for = taken(sets, point)
    brought: dict[str, Entry] = {}
    if spoken_for is not None:
        known = plugin_points(minor)
        for entry in sets["multiPoint"].enabled:
            if entry.name not in spoken_for and point in known.get(entry.name, ()):
                brought.setdefault(entry.name, entry)
    return [*sets[point].enabled, *brought.values()]


def _custom(given: Mapping[str, Any], path: Path) -> list[Entry]:
    return [
        Entry(item.get("name", ""), item.get("weight", 0), (*path, "enabled", at))
        for at, item in enumerate(given.get("enabled") or ())
    ]


def _disabled(given: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(item.get("name", "") for item in given.get("disabled") or ())


def _merged(defaults: tuple[Weighted, ...], given: Mapping[str, Any], path: Path) -> PluginSet:
    """A default that is enabled again is replaced where it stands; the others follow."""
    custom, disabled = _custom(given, path), _disabled(given)
    replacing = {entry.name: entry for entry in custom}  # of several, the last one
    enabled = []
    if EVERY not in disabled:
        for name, weight in defaults:
            if name not in disabled:
                enabled.append(replacing.get(name, Entry(name, weight, None)))
    replaced = {entry.path for entry in enabled}
    enabled += [entry for entry in custom if entry.path not in replaced]
    return PluginSet(tuple(enabled), disabled)


def _appended(defaults: tuple[Weighted, ...], given: Mapping[str, Any], path: Path) -> PluginSet:
    """v1beta1 replaces nothing: what is enabled twice is registered twice, and refused."""
    disabled = _disabled(given)
    left = () if EVERY in disabled else (pair for pair in defaults if pair[0] not in disabled)
    enabled = [*(Entry(*pair, None) for pair in left), *_custom(given, path)]
    return PluginSet(tuple(enabled), disabled)
