"""Makes a profile of the target do what it should: the least entries on top of its defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kschedpatch.core.schedconfig.conversion.roles import (
    ROLE_POINTS,
    Roles,
    default_roles,
    entries,
    names,
    points_of,
    roles_of,
)
from kschedpatch.core.schedconfig.conversion.settings import Setting


class Kept(NamedTuple):
    """An entry that had to be written so that the meaning stays."""

    point: str
    key: str
    """enabled or disabled"""
    plugin: str
    weight: int = 0


def keep(
    plugins: dict[str, Any],
    wanted: Roles,
    target: Setting,
    *,
    foreign: frozenset[str] = frozenset(),
) -> list[Kept]:
    """Changes ``plugins`` until it comes to ``wanted``; tells what it wrote.

    ``foreign`` are defaults that the text can't have meant, since its own scheduler does not have
    them (SchedulingGates, DynamicResources): they stay as the target has them.
    """
    have = roles_of(plugins, target)
    unwanted = set(_unwanted(have, wanted, target)) - foreign
    kept = [Kept("multiPoint", "disabled", plugin) for plugin in unwanted]
    for role in ROLE_POINTS:
        wide = {change.plugin for change in kept if change.point == "multiPoint"}
        for plugin in have[role].keys() - wanted[role].keys() - wide - foreign:
            points = points_of(plugin, role, target.minor)
            kept += [Kept(point, "disabled", plugin) for point in points]
        for plugin, weight in wanted[role].items():
            if plugin not in have[role]:
                points = points_of(plugin, role, target.minor)
                kept += [Kept(point, "enabled", plugin, weight if point == "score" else 0)
                         for point in points]  # fmt: skip
            elif role == "score" and have[role][plugin] != weight:
                kept.append(Kept("score", "enabled", plugin, weight))
    order = ["multiPoint", *(point for points in ROLE_POINTS.values() for point in points)]
    kept.sort(key=lambda change: (order.index(change.point), change.key, change.plugin))
    for change in kept:
        _write(plugins, change)
    return kept


def _unwanted(have: Roles, wanted: Roles, target: Setting) -> Iterator[str]:
    """Defaults of multiPoint that do nothing at all any more: one entry takes them away."""
    if not target.has_multi_point_defaults:
        return
    defaults = default_roles(target)
    for plugin in sorted({name for plugins in defaults.values() for name in plugins}):
        roles = [role for role in defaults if plugin in defaults[role]]
        is_whole = all(plugin in have[role] for role in roles)
        if is_whole and not any(plugin in wanted[role] for role in wanted):
            yield plugin


def _write(plugins: dict[str, Any], change: Kept) -> None:
    point = plugins.get(change.point)
    if not isinstance(point, dict):
        point = plugins[change.point] = {}
    if change.key == "disabled":
        # Enabled and disabled at one point would still be enabled.
        _drop(point, "enabled", change.plugin)
    else:
        for _, item in entries(point, "enabled"):
            if item.get("name") == change.plugin:
                item["weight"] = change.weight
                return
    listed = point.get(change.key)
    if not isinstance(listed, list):
        listed = point[change.key] = []
    if change.plugin not in names(point, change.key):
        listed.append(
            {"name": change.plugin, **({"weight": change.weight} if change.weight else {})}
        )


def _drop(point: dict[str, Any], key: str, plugin: str) -> None:
    if plugin in names(point, key):
        left = [item for item in point[key] if not _is(item, plugin)]
        point[key] = left
        if not left:
            del point[key]


def _is(item: Any, plugin: str) -> bool:
    return isinstance(item, dict) and item.get("name") == plugin


def forget(plugins: dict[str, Any], plugin: str) -> None:
    """Takes every mention of a plugin away, and the points that then say nothing."""
    for name, point in list(plugins.items()):
        if isinstance(point, dict):
            _drop(point, "enabled", plugin)
            _drop(point, "disabled", plugin)
            if not point:
                del plugins[name]
