"""pluginConfig: arguments decoded by their kind, each plugin once, and the rules of each kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kschedpatch.core.kubeversions.configapi import CONFIG_GROUP
from kschedpatch.core.kubeversions.plugins import refused_plugins
from kschedpatch.core.schedconfig.decode import Decoder
from kschedpatch.core.schedconfig.gotypes import args_kind
from kschedpatch.core.schedconfig.pluginargs import Setting, args_problems
from kschedpatch.core.schedconfig.surroundings import Decoded
from kschedpatch.model.finding import Finding, Path

# Looked at when a profile builds the plugin, not before. (The scheduler's table of rules has it
# under a wrong name, which nobody can use as a plugin's either.)
LATE = "NodeResourcesFit"
_UNUSABLE = "NodeResourcesFitArgs"


def decode_args(
    profiles: list[Mapping[str, Any]], decoder: Decoder
) -> dict[tuple[int, int], Mapping[str, Any]]:
    """Arguments of in-tree plugins, decoded. Those of others are the plugin's own business."""
    decoded = {}
    for index, profile in enumerate(profiles):
        for at, item in enumerate(profile.get("pluginConfig") or ()):
            kind = args_kind(decoder.version, decoder.minor, item.get("name", ""))
            if kind is None:
                continue
            path: Path = ("profiles", index, "pluginConfig", at, "args")
            _check_kind(item.get("args"), kind, decoder, path)
            decoded[index, at] = decoder.decode(kind, item.get("args"), path) or {}
    return decoded


def _check_kind(args: Any, kind: str, decoder: Decoder, path: Path) -> None:
    if not isinstance(args, dict):
        return  # a finding of the decoder's
    given, api_version = args.get("kind"), args.get("apiVersion")
    if isinstance(given, str) and given and given != kind:
        message = f"these are arguments of kind {given}, the plugin's are {kind}"
        found = decoder.config.at("C031", (*path, "kind"), message, f"kind: {kind}")
        decoder.findings.append(found)
    if isinstance(api_version, str) and not _is_own_version(api_version, decoder.version):
        own = f"{CONFIG_GROUP}/{decoder.version}"
        message = f"the arguments are of {api_version}, the configuration of {own}"
        hint = f"apiVersion: {own}, or leave it out"
        decoder.findings.append(decoder.config.at("C031", (*path, "apiVersion"), message, hint))


def _is_own_version(api_version: str, version: str) -> bool:
    # Without its version or altogether empty it is taken from the configuration.
    own = {"", "/", f"{CONFIG_GROUP}/", f"{CONFIG_GROUP}/{version}"}
    return api_version in own


def setting_of(decoded: Decoded) -> Setting:
    return Setting(decoded.version, decoded.minor, decoded.gates)


def args_findings(decoded: Decoded) -> Iterator[Finding]:
    """What the scheduler looks at when it reads the configuration."""
    refused = refused_plugins(decoded.version, decoded.minor)
    for index, profile in enumerate(decoded.profiles):
        seen = set()
        for at, item in enumerate(profile.get("pluginConfig") or ()):
            name = item.get("name", "")
            path: Path = ("profiles", index, "pluginConfig", at)
            if name in seen:
                yield decoded.at("C032", path, f"arguments of {name} stand there twice")
            seen.add(name)
            if name in refused:
                yield decoded.at("C027", (*path, "name"), refusal(name, decoded))
            elif name == _UNUSABLE:
                message = f"{name} is no plugin, and the scheduler refuses arguments for it"
                yield decoded.at("C031", path, message, f"name: {LATE}")
            elif name != LATE:
                yield from late_findings(decoded, index, at, name)


def late_findings(decoded: Decoded, index: int, at: int, name: str) -> Iterator[Finding]:
    """The rules of one plugin's arguments."""
    args = decoded.args.get((index, at))
    if args is None:
        return
    path: Path = ("profiles", index, "pluginConfig", at, "args")
    for place, message in args_problems(name, args, setting_of(decoded)):
        yield decoded.at("C030", (*path, *place), message)


def refusal(name: str, decoded: Decoded) -> str:
    return f"configurations of {decoded.version} may not use {name} any more in 1.{decoded.minor}"
