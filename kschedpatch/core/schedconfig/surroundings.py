"""What a configuration runs with, and the configuration once it is decoded for one minor."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kschedpatch.core.kubeversions.plugins import plugin_points
from kschedpatch.core.schedconfig.read import ConfigText
from kschedpatch.model.finding import Finding, Path


class Surroundings(NamedTuple):
    """What a configuration runs with, as far as it is known."""

    minor: int | None = None
    flags: Mapping[str, str] = MappingProxyType({})
    stock_image: bool = False
    mounted: tuple[str, ...] | None = None
    """Mount paths of the container; None where no manifest is known."""
    known_plugins: tuple[str, ...] | None = None
    """What the image has beside the scheduler's own plugins; None where nobody says it."""
    may_be_completed: bool = False
    """A patch brings it, and fills in what is missing for the minor."""


class Decoded(NamedTuple):
    """A configuration decoded for one minor, and all that the rules need beside it."""

    config: ConfigText
    value: Mapping[str, Any]
    args: Mapping[tuple[int, int], Mapping[str, Any]]
    """Decoded arguments by the indexes of profile and pluginConfig; in-tree kinds only."""
    version: str
    minor: int
    gates: frozenset[str]
    around: Surroundings

    def at(self, code: str, path: Path, message: str, hint: str = "") -> Finding:
        return self.config.at(code, path, message, hint)

    @property
    def profiles(self) -> list[Mapping[str, Any]]:
        """Without any there is one, all of defaults."""
        return self.value.get("profiles") or [{}]

    @property
    def extenders(self) -> list[Mapping[str, Any]]:
        return self.value.get("extenders") or []

    def points(self, plugin: str) -> frozenset[str] | None:
        """The extension points of one of the scheduler's own plugins; None for any other."""
        return plugin_points(self.minor).get(plugin)

    def may_exist(self, plugin: str) -> bool:
        """Whether a plugin that is not the scheduler's own can be in this image."""
        if self.around.known_plugins is not None:
            return plugin in self.around.known_plugins
        return not self.around.stock_image
