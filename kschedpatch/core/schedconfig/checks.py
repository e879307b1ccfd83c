"""What can be wrong with a configuration although it is YAML of the right kind.

These are the mistakes that people report most; the scheduler's complete rules come on top.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple

from kschedpatch.core.kubeversions import (
    CONFIG_KIND,
    IGNORED_WITH_CONFIG,
    YOUNG_CONFIG_FIELDS,
    YOUNG_PROFILE_FIELDS,
    best_config_version,
    config_version_reaches,
    stock_plugins,
)
from kschedpatch.core.manifest.mounts import is_mounted
from kschedpatch.core.schedconfig.election import duration_problems, election
from kschedpatch.core.schedconfig.extenders import extender_findings
from kschedpatch.core.schedconfig.keys import unknown_key_findings
from kschedpatch.core.schedconfig.read import ConfigText
from kschedpatch.core.yamltext.nodes import canonical
from kschedpatch.model.finding import Finding, Path

_SHAPES = {
    "profiles": list, "extenders": list, "leaderElection": dict, "clientConnection": dict,
}  # fmt: skip


class Surroundings(NamedTuple):
    """What a configuration runs with, as far as it is known."""

    minor: int | None = None
    flags: Mapping[str, str] = MappingProxyType({})
    stock_image: bool = False
    mounted: tuple[str, ...] | None = None
    """Mount paths of the container; None where no manifest is known."""


def config_findings(config: ConfigText, around: Surroundings) -> Iterator[Finding]:
    if config.value.get("kind") not in (None, CONFIG_KIND):
        return  # another kind of object: told already, and no rule fits it
    yield from unknown_key_findings(config)
    shapes = list(_shape_findings(config))
    yield from shapes
    if shapes:
        return
    yield from _young_findings(config, around)
    yield from _plugin_findings(config, around)
    yield from _profile_findings(config)
    yield from extender_findings(config, around.mounted)
    yield from _election_findings(config, around)
    yield from _connection_findings(config, around)


def _shape_findings(config: ConfigText) -> Iterator[Finding]:
    for key, shape in _SHAPES.items():
        value = config.value.get(key)
        if value is None:
            continue
        if not isinstance(value, shape):
            what = "a list" if shape is list else "a mapping"
            yield config.at("C018", (key,), f"{key} must be {what}")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if not isinstance(item, dict):
                    yield config.at("C018", (key, index), f"each of {key} must be a mapping")


def _young_findings(config: ConfigText, around: Surroundings) -> Iterator[Finding]:
    """Fields that a minor, or an older version of the configuration, does not have yet."""
    if around.minor is None:
        return
    version = str(config.value.get("apiVersion") or best_config_version(around.minor))
    version = version.rpartition("/")[2]
    present: list[tuple[Path, tuple[int, str]]] = []
    if "delayCacheUntilActive" in config.value:
        here: Path = ("delayCacheUntilActive",)
        present.append((here, YOUNG_CONFIG_FIELDS["delayCacheUntilActive"]))
    for index, profile in enumerate(_profiles(config)):
        path: Path = ("profiles", index)
        present += [
            ((*path, key), since) for key, since in YOUNG_PROFILE_FIELDS.items() if key in profile
        ]
        plugins = profile.get("plugins")
        for key in plugins if isinstance(plugins, dict) else ():
            if key in YOUNG_CONFIG_FIELDS:
                present.append(((*path, "plugins", key), YOUNG_CONFIG_FIELDS[key]))
    for place, (minor, needed) in present:
        if around.minor < minor:
            message = f"it exists from Kubernetes 1.{minor} on, and this is 1.{around.minor}"
            yield config.at("C019", place, message)
        elif not config_version_reaches(version, needed):
            yield config.at("C019", place, f"{version} does not have it", f"use {needed}")


def _profiles(config: ConfigText) -> list[dict[str, Any]]:
    return config.value.get("profiles") or []


def enabled_plugins(profile: dict[str, Any], path: Path) -> Iterator[tuple[Path, str, str]]:
    """(path, extension point, plugin) of everything that a profile enables."""
    plugins = profile.get("plugins")
    for point, lists in plugins.items() if isinstance(plugins, dict) else ():
        enabled = lists.get("enabled") if isinstance(lists, dict) else None
        for index, item in enumerate(enabled if isinstance(enabled, list) else ()):
            name = item.get("name") if isinstance(item, dict) else None
            if isinstance(name, str):
                yield (*path, "plugins", point, "enabled", index, "name"), point, name


def _plugin_findings(config: ConfigText, around: Surroundings) -> Iterator[Finding]:
    if around.minor is None or not around.stock_image:
        return
    known = stock_plugins(around.minor)
    for index, profile in enumerate(_profiles(config)):
        for path, point, name in enabled_plugins(profile, ("profiles", index)):
            if name not in known:
                near = get_close_matches(name, known, n=1, cutoff=0.6)
                hint = f"did you mean {near[0]}? " if near else ""
                hint += "A plugin of your own needs an image or binary that has it."
                message = (
                    f"the stock scheduler of 1.{around.minor} has no plugin {name!r} ({point})"
                )
                yield config.at("C005", path, message, hint)


def _profile_findings(config: ConfigText) -> Iterator[Finding]:
    profiles = _profiles(config)
    names = [profile.get("schedulerName") for profile in profiles]
    # A single profile without a name is default-scheduler.
    nameless = len(profiles) == 1 and not names[0]
    if profiles and "default-scheduler" not in names and not nameless:
        message = "no profile is named default-scheduler"
        hint = "add `- schedulerName: default-scheduler`, or name the scheduler in every pod"
        yield config.at("C015", ("profiles",), message, hint)
    sorts = [_queue_sort(profile) for profile in profiles]
    for index, sort in enumerate(sorts[1:], 1):
        if sort != sorts[0]:
            message = "its queueSort differs from the first profile's"
            yield config.at("C009", ("profiles", index), message)


def _queue_sort(profile: dict[str, Any]) -> str:
    """The queueSort of a profile, comparable. The scheduler compares what is written: PrioritySort
    spelt out in one profile and left to the default in another counts as different."""
    plugins = profile.get("plugins")
    chosen = plugins.get("queueSort") if isinstance(plugins, dict) else None
    names = [name for _, point, name in enabled_plugins(profile, ()) if point == "queueSort"]
    settings = profile.get("pluginConfig")
    arguments = [
        item.get("args")
        for item in (settings if isinstance(settings, list) else ())
        if isinstance(item, dict) and item.get("name") in names
    ]
    return canonical([chosen or {}, arguments])


def _election_findings(config: ConfigText, around: Surroundings) -> Iterator[Finding]:
    chosen = election(config.value, around.flags)
    section = config.value.get("leaderElection") or {}
    wanted = section.get("leaderElect")
    if "leader-elect" in around.flags and wanted in (True, False) and wanted != chosen.enabled:
        message = f"--leader-elect={around.flags['leader-elect']} on the command line wins"
        yield config.at("C014", ("leaderElection", "leaderElect"), message)
    if not chosen.enabled:
        return
    if chosen.lock != "leases" and (around.minor is None or around.minor >= 27):
        here = ("leaderElection", "resourceLock")
        yield config.at("C006", here, f"resourceLock is {chosen.lock!r}", "resourceLock: leases")
    for key, message in duration_problems(chosen):
        yield config.at("C017", ("leaderElection", key), message)


def _connection_findings(config: ConfigText, around: Surroundings) -> Iterator[Finding]:
    connection = config.value.get("clientConnection") or {}
    kubeconfig = connection.get("kubeconfig")
    mounted = around.mounted is None or is_mounted(str(kubeconfig), around.mounted)
    if isinstance(kubeconfig, str) and kubeconfig and not mounted:
        here = ("clientConnection", "kubeconfig")
        message = f"no mount brings {kubeconfig} into the container"
        yield config.at("C013", here, message, "add a mount for it, or leave it out")
    for flag, where in IGNORED_WITH_CONFIG.items():
        if flag not in around.flags:
            continue
        # kubeadm always sets --kubeconfig; the same path is filled into the file.
        if flag == "kubeconfig" and kubeconfig in (None, "", around.flags[flag]):
            continue
        message = f"--{flag}={around.flags[flag]} counts for nothing beside --config"
        yield config.at("C003", (), message, f"{where} in the configuration says it")
