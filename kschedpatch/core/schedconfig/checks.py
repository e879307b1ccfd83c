"""Everything that is wrong with a configuration, in the order in which the scheduler finds it:
decoding, the rules of single fields, extenders, profiles built; then what only people notice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kschedpatch.core.kubeversions import CONFIG_GROUP, CONFIG_KIND, config_versions, minors_reading
from kschedpatch.core.kubeversions.gates import enabled_gates
from kschedpatch.core.schedconfig.args import args_findings, decode_args
from kschedpatch.core.schedconfig.decode import Decoder
from kschedpatch.core.schedconfig.extenders import (
    built_extender_findings,
    called_findings,
    extender_findings,
    ignored_resources,
)
from kschedpatch.core.schedconfig.framework import framework_findings, refused_findings
from kschedpatch.core.schedconfig.general import general_findings
from kschedpatch.core.schedconfig.gotypes import types_of
from kschedpatch.core.schedconfig.leadership import leadership_findings
from kschedpatch.core.schedconfig.merge import merged_sets
from kschedpatch.core.schedconfig.oversights import oversight_findings
from kschedpatch.core.schedconfig.profiles import (
    built_sort_findings,
    name_findings,
    queue_sort_findings,
)
from kschedpatch.core.schedconfig.read import ConfigText
from kschedpatch.core.schedconfig.surroundings import Decoded, Surroundings
from kschedpatch.model.finding import Finding, Path, format_path, has_errors

__all__ = ["Surroundings", "config_findings", "enabled_plugins"]


def config_findings(config: ConfigText, around: Surroundings) -> Iterator[Finding]:
    """Nothing where kind or version are wrong: told already, and no rule fits."""
    if config.value.get("kind") not in (None, "", CONFIG_KIND):
        return
    if around.minor is not None:
        version = _version(config, config_versions(around.minor))
        if version is not None:
            yield from _in_minor(config, version, around.minor, around)
        return
    # Without a minor only what every reader of this version refuses is an error: that is what
    # both the oldest and the newest of them refuse.
    version = _version(config, ("v1",))
    minors = minors_reading(version) if version is not None else None
    if version is None or minors is None:
        return
    oldest, newest = (list(_in_minor(config, version, minor, around)) for minor in minors)
    refused = {finding.path for finding in oldest if finding.is_error}
    yield from (finding for finding in newest if not finding.is_error or finding.path in refused)


def _version(config: ConfigText, readable: tuple[str, ...]) -> str | None:
    """The version of the configuration; the best one where it says none."""
    api_version = config.value.get("apiVersion")
    if api_version in (None, ""):
        return readable[-1]
    group, _, version = str(api_version).partition("/")
    return version if group == CONFIG_GROUP and minors_reading(version) else None


def _in_minor(
    config: ConfigText, version: str, minor: int, around: Surroundings
) -> Iterator[Finding]:
    if version not in config_versions(minor):
        return
    decoder = Decoder(config, types_of(version), version, minor, [])
    value = decoder.decode(CONFIG_KIND, config.value, ()) or {}
    args = decode_args(value.get("profiles") or [], decoder)
    yield from decoder.findings
    gates = enabled_gates(minor, around.flags)
    decoded = Decoded(config, value, args, version, minor, gates, around)
    untyped = [finding for finding in decoder.findings if finding.code in {"C018", "C031"}]
    if not untyped:
        yield from _by_rules(decoded)
        return
    # What does not fit its type has no meaning that could be judged, nor has what depends on it.
    mute = {_section(config, finding) for finding in untyped}
    mute.update(*(linked for linked in _LINKED if linked & mute))
    for finding in _by_rules(decoded):
        if _section(config, finding) not in mute | {""}:
            yield finding


#: Sections of which one is judged with a look at the other.
_LINKED = (
    {"profiles", "extenders"},
    {"podInitialBackoffSeconds", "podMaxBackoffSeconds"},
    {"healthzBindAddress", "metricsBindAddress"},
    {"leaderElection", "delayCacheUntilActive"},
)


def _section(config: ConfigText, finding: Finding) -> str:
    """The field of the configuration, at its top, that a finding is about."""
    inside = finding.path.removeprefix(format_path(config.prefix)).removeprefix(".")
    return re.split(r"[.\[]", inside, maxsplit=1)[0]


def _by_rules(decoded: Decoded) -> Iterator[Finding]:
    version, minor, gates = decoded.version, decoded.minor, decoded.gates
    sets = [
        merged_sets(profile, ("profiles", index), version, minor, gates)
        for index, profile in enumerate(decoded.profiles)
    ]
    ignored = ignored_resources(decoded)
    read: list[Finding] = [*general_findings(decoded), *leadership_findings(decoded)]
    read += name_findings(decoded)
    for own in sets:
        read += refused_findings(decoded, own)
    read += args_findings(decoded)
    read += queue_sort_findings(decoded, sets)
    read += extender_findings(decoded)
    yield from read
    yield from built_extender_findings(decoded, sets)
    if ignored:
        decoded = _with_ignored(decoded, ignored)
    built = [
        finding
        for index, own in enumerate(sets)
        for finding in framework_findings(decoded, index, own)
    ]
    yield from built
    if not has_errors((*read, *built)):
        yield from built_sort_findings(decoded, sets)
    yield from called_findings(decoded)
    yield from oversight_findings(decoded, sets)


def _with_ignored(decoded: Decoded, ignored: list[str]) -> Decoded:
    """Extenders overwrite what NodeResourcesFit was told to ignore, before it is built."""
    args = dict(decoded.args)
    for (index, at), own in decoded.args.items():
        if decoded.profiles[index]["pluginConfig"][at].get("name") == "NodeResourcesFit":
            args[index, at] = {**own, "ignoredResources": ignored}
    return decoded._replace(args=args)


def enabled_plugins(profile: dict[str, Any], path: Path) -> Iterator[tuple[Path, str, str]]:
    """(path, extension point, plugin) of everything that a profile enables."""
    plugins = profile.get("plugins")
    for point, lists in plugins.items() if isinstance(plugins, dict) else ():
        enabled = lists.get("enabled") if isinstance(lists, dict) else None
        for index, item in enumerate(enabled if isinstance(enabled, list) else ()):
            name = item.get("name") if isinstance(item, dict) else None
            if isinstance(name, str):
                yield (*path, "plugins", point, "enabled", index, "name"), point, name
