"""What plugins do in a profile: who filters, who scores with which weight, who binds.

Two texts mean the same when these are the same. The points that only prepare another one
(preFilter, preScore and so on) go with the role that they prepare.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedpatch.core.kubeversions.gates import enabled_gates
from kschedpatch.core.kubeversions.plugins import plugin_points, stock_plugins
from kschedpatch.core.schedconfig.conversion.settings import Setting
from kschedpatch.core.schedconfig.merge import Sets, entries_at, merged_sets
from kschedpatch.model.kubeversion import OLDEST_MINOR

#: Role → the extension points that belong to it. The role's own point has its name.
ROLE_POINTS: dict[str, tuple[str, ...]] = {
    "queueSort": ("queueSort",),
    "filter": ("preFilter", "filter", "reserve", "preBind"),
    "postFilter": ("postFilter",),
    "score": ("preScore", "score"),
    "bind": ("bind",),
}
# Extends the point, and gives every node 0 there unless a feature gate is on that is off in every
# minor.
_IDLE = {("score", "VolumeBinding")}

#: Role → plugin → weight (0 where a role knows none).
Roles = dict[str, dict[str, int]]


def default_roles(setting: Setting) -> Roles:
    """What a profile does that says nothing."""
    return roles_of(None, setting)


def points_of(plugin: str, role: str, minor: int) -> tuple[str, ...]:
    """The points at which a plugin works for a role in this minor."""
    known = plugin_points(minor).get(plugin, frozenset())
    return tuple(point for point in ROLE_POINTS[role] if point == role or point in known)


def roles_of(plugins: Any, setting: Setting) -> Roles:
    """What a profile's ``plugins`` come to."""
    given = {
        point: lists
        for point, lists in (plugins if isinstance(plugins, dict) else {}).items()
        if setting.has_field("Plugins", point)
    }
    gates = enabled_gates(setting.minor, {})
    sets = merged_sets({"plugins": given}, (), setting.version, setting.minor, gates)
    return {role: _role(role, sets, setting.minor) for role in ROLE_POINTS}


def _role(role: str, sets: Sets, minor: int) -> dict[str, int]:
    named = set(sets[role].names)
    return {
        entry.name: (entry.weight or 1) if role == "score" else 0
        for entry in entries_at(sets, role, minor)
        if entry.name in named or _counts(entry.name, role)
    }


def _counts(plugin: str, role: str) -> bool:
    """Of what comes by multiPoint: plugins younger than 1.22 stay as the target has them."""
    return (role, plugin) not in _IDLE and plugin in stock_plugins(OLDEST_MINOR)


def entries(point: Any, key: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The ``enabled`` or ``disabled`` of a point, as far as they are mappings."""
    listed = point.get(key) if isinstance(point, dict) else None
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict):
            yield index, item


def names(point: Any, key: str) -> list[str]:
    return [str(item.get("name")) for _, item in entries(point, key)]
