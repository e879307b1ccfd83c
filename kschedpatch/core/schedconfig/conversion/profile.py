"""Converts one profile: plugins that are gone, points that are missing, weights that differ."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kschedpatch.core.kubeversions.plugins import POINTS, stock_plugins
from kschedpatch.core.schedconfig.conversion.arguments import convert_arguments
from kschedpatch.core.schedconfig.conversion.meaning import Kept, forget, keep
from kschedpatch.core.schedconfig.conversion.roles import (
    ROLE_POINTS,
    Roles,
    default_roles,
    entries,
    names,
    roles_of,
)
from kschedpatch.core.schedconfig.conversion.settings import Setting, was_stock_plugin
from kschedpatch.core.schedconfig.conversion.successors import (
    CLOUD_LIMITS,
    STRATEGIES,
    Loss,
    succeed,
)
from kschedpatch.core.schedconfig.merge import forgotten_points
from kschedpatch.model.finding import Path

if TYPE_CHECKING:
    from kschedpatch.core.schedconfig.conversion.journal import Journal


_BECAME = {
    **{name: f"NodeResourcesFit's {strategy}" for name, strategy in STRATEGIES.items()},
    **dict.fromkeys(CLOUD_LIMITS, "NodeVolumeLimits"),
    "NodeLabel": "NodeAffinity's addedAffinity",
}


class ProfileConverter:
    def __init__(
        self, source: Setting, target: Setting, journal: Journal, *, new_weights: bool
    ) -> None:
        self.source, self.target = source, target
        self.journal = journal
        self.new_weights = new_weights
        self.usable = target.usable_plugins
        self.written: dict[str, Any] = {}

    def convert(self, profile: dict[str, Any], path: Path) -> None:
        """Changes ``profile`` in place; ``path`` is where it stood, empty for the default one."""
        plugins = profile.get("plugins")
        plugins = plugins if isinstance(plugins, dict) else {}
        self.written = copy.deepcopy(plugins)
        here: Path = (*path, "plugins") if path else ()
        self._drop_forgotten(plugins, here)
        old = roles_of(plugins, self.source)
        chosen = succeed(old, _arguments(profile), self.usable)
        wanted = self._weights(chosen.roles, plugins)
        self._tell_losses(chosen.losses, here)
        self._drop_points(plugins, here)
        self._drop_names(plugins, here, {loss.plugin for loss in chosen.losses})
        self._drop_multi_point(plugins, here)
        # Defaults of the target that the source does not have stay as they are.
        foreign = stock_plugins(self.target.minor) - self.source.usable_plugins
        kept = keep(plugins, wanted, self.target, foreign=foreign)
        self._tell_kept(kept, old, here)
        convert_arguments(profile, chosen.args, self.source, self.target, self.journal, path)
        if plugins:
            profile["plugins"] = plugins
        elif self.written:
            del profile["plugins"]

    def _weights(self, roles: Roles, plugins: dict[str, Any]) -> Roles:
        """With --new-weights, the target's own where the text gives none."""
        if not self.new_weights:
            return roles
        written = {*names(plugins.get("score"), "enabled"), *names(plugins.get("multiPoint"),
                                                                   "enabled")}  # fmt: skip
        defaults = default_roles(self.target)["score"]
        scores = {
            name: weight if name in written else defaults.get(name, weight)
            for name, weight in roles["score"].items()
        }
        return {**roles, "score": scores}

    def _tell_losses(self, losses: tuple[Loss, ...], here: Path) -> None:
        for loss in losses:
            written = self._place(loss.plugin, "enabled")
            if written is None and loss.was_default:
                message = f"{loss.message}; it was on by default"
                self.journal.noted("U004", here, message, loss.hint)
            else:
                self.journal.lost((*here, *(written or ())), loss.message, loss.hint)

    def _place(self, name: str, key: str) -> Path | None:
        """Where the text enables or disables a plugin, before anything was changed."""
        for point, lists in self.written.items():
            for index, item in entries(lists, key):
                if item.get("name") == name:
                    return (point, key, index, "name")
        return None

    def _drop_forgotten(self, plugins: dict[str, Any], here: Path) -> None:
        """What never counted must not begin to count."""
        for point in forgotten_points(self.source.version):
            if point in plugins and point not in forgotten_points(self.target.version):
                del plugins[point]
                message = f"taken away: {self.source.version} reads it and forgets it"
                self.journal.changed((*here, point), message, f"write {point} again if it is meant")

    def _drop_points(self, plugins: dict[str, Any], here: Path) -> None:
        for point in list(plugins):
            if point not in POINTS or self.target.has_field("Plugins", point):
                continue
            message = f"1.{self.target.minor} has no {point}"
            if names(plugins.pop(point), "enabled"):
                self.journal.lost((*here, point), message)
            else:
                self.journal.changed((*here, point), f"taken away: {message}")

    def _drop_names(self, plugins: dict[str, Any], here: Path, told: set[str]) -> None:
        """Every name that the target refuses or does not know; ``told`` are those lost already."""
        for name in sorted(set(_mentioned(plugins))):
            if not was_stock_plugin(name) or name in self.usable:
                continue
            enabled = self._place(name, "enabled")
            path = (*here, *(enabled or self._place(name, "disabled") or ()))
            if enabled is None:
                self.journal.changed(path, f"{name} taken away: 1.{self.target.minor} has none")
            elif name in _BECAME:
                if name not in told:
                    self.journal.changed(path, f"{name} is {_BECAME[name]} today")
            elif name not in told:
                self.journal.lost(path, f"1.{self.target.minor} has no {name}")
            forget(plugins, name)

    def _drop_multi_point(self, plugins: dict[str, Any], here: Path) -> None:
        multi = plugins.get("multiPoint")
        if not isinstance(multi, dict) or self.target.has_field("Plugins", "multiPoint"):
            return
        if "disabled" in multi:
            message = f"taken away: {self.target.version} has its defaults at their points"
            self.journal.changed((*here, "multiPoint", "disabled"), message)
        if names(multi, "enabled"):
            message = "its plugins stand at their points: 1.22 has no multiPoint"
            self.journal.changed((*here, "multiPoint", "enabled"), message)
        for index, item in entries(multi, "enabled"):
            name = str(item.get("name"))
            if not was_stock_plugin(name):
                message = f"1.{self.target.minor} has no multiPoint; only {name} knows its points"
                where = (*here, "multiPoint", "enabled", index)
                self.journal.noted("U005", where, message, "enable it at each point instead")
        del plugins["multiPoint"]

    def _tell_kept(self, kept: list[Kept], old: Roles, here: Path) -> None:
        weights = [change for change in kept if change.point == "score" and change.weight]
        same = [change for change in weights if old["score"].get(change.plugin) == change.weight]
        if same:
            listed = ", ".join(f"{change.plugin} {change.weight}" for change in same)
            defaults = default_roles(self.target)["score"]
            others = ", ".join(str(defaults.get(change.plugin, 0)) for change in same)
            message = (
                f"the weights of {self.source.version} are written out: {listed}; "
                f"{self.target.version} itself would take {others}"
            )
            self.journal.changed(here, message, "--new-weights leaves them to the target")
        for point in ("multiPoint", *(p for points in ROLE_POINTS.values() for p in points)):
            for key in ("disabled", "enabled"):
                rest = [
                    c.plugin for c in kept if c not in same and (c.point, c.key) == (point, key)
                ]
                if rest:
                    message = f"{point} has {', '.join(rest)} {key}: the target differs there"
                    self.journal.changed(here, message)


def _arguments(profile: dict[str, Any]) -> dict[str, Any]:
    listed = profile.get("pluginConfig")
    return {
        str(item.get("name")): item.get("args") if isinstance(item.get("args"), dict) else {}
        for item in (listed if isinstance(listed, list) else ())
        if isinstance(item, dict)
    }


def _mentioned(plugins: dict[str, Any]) -> Iterator[str]:
    for point in plugins.values():
        yield from names(point, "enabled")
        yield from names(point, "disabled")
