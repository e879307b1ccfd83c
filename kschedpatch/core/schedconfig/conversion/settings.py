"""A version of the configuration in the hands of a minor's scheduler: what it reads and has."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from kschedpatch.core.kubeversions import (
    CONFIG_GROUP,
    best_config_version,
    minors_reading,
    stock_plugins,
)
from kschedpatch.core.kubeversions.plugins import default_plugins, refused_plugins
from kschedpatch.core.schedconfig.gotypes import has_field
from kschedpatch.model.kubeversion import NEWEST_MINOR, OLDEST_MINOR


class Setting(NamedTuple):
    version: str
    """v1beta1, v1beta2, v1beta3 or v1"""
    minor: int

    @property
    def usable_plugins(self) -> frozenset[str]:
        """The stock plugins that a text may name: some are registered and refused all the same."""
        return stock_plugins(self.minor) - refused_plugins(self.version, self.minor)

    @property
    def has_multi_point_defaults(self) -> bool:
        """From v1beta3 on the defaults are multiPoint entries, which a user's own multiPoint
        overrides; before, they stand at their points."""
        return "multiPoint" in default_plugins(self.version, self.minor, frozenset())

    def has_field(self, kind: str, field: str) -> bool:
        return has_field(self.version, self.minor, kind, field)


def target_setting(minor: int) -> Setting:
    return Setting(best_config_version(minor).rpartition("/")[2], minor)


def is_known_version(api_version: str) -> bool:
    group, _, version = api_version.partition("/")
    return group == CONFIG_GROUP and minors_reading(version) is not None


def source_setting(value: dict[str, Any], minor: int | None, target: Setting) -> Setting:
    """What a configuration was written for: its apiVersion decides, then the minor given."""
    api_version = str(value.get("apiVersion") or "")
    version = api_version.partition("/")[2]
    minors = minors_reading(version)
    if not is_known_version(api_version) or minors is None:
        return target if minor is None else target_setting(minor)
    oldest, newest = minors
    if minor is not None and oldest <= minor <= newest:
        return Setting(version, minor)
    if target.version == version == "v1":
        return target
    return Setting(version, newest)  # it knows every field that the version can have


@cache
def was_stock_plugin(name: str) -> bool:
    """Whether any minor's stock scheduler has, or had, a plugin of this name."""
    return any(name in stock_plugins(minor) for minor in range(OLDEST_MINOR, NEWEST_MINOR + 1))
