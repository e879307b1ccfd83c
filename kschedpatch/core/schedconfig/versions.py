"""Whether a minor's scheduler reads a configuration of this apiVersion."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from kschedpatch.core.kubeversions import (
    CONFIG_GROUP,
    CONFIG_KIND,
    best_config_version,
    config_versions,
    is_deprecated_config,
    minors_reading,
)
from kschedpatch.core.schedconfig.read import ConfigText
from kschedpatch.core.yamltext.places import COMMAND_LINE, STANDARD_INPUT
from kschedpatch.model.finding import Finding


def migrate_command(file: str, minor: int) -> str:
    """What rewrites a file for a minor; what was no file has to be put into one first."""
    named = "FILE" if file in {COMMAND_LINE, STANDARD_INPUT} else quote(file)
    return f"kschedpatch migrate -f {named} --to 1.{minor}"


def version_findings(config: ConfigText, minor: int | None) -> Iterator[Finding]:
    """Whether this minor's scheduler reads a configuration of that apiVersion and kind."""
    kind, api_version = config.value.get("kind"), config.value.get("apiVersion")
    if kind not in (None, CONFIG_KIND):
        yield config.at("C002", ("kind",), f"kind is {kind!r}", f"kind: {CONFIG_KIND}")
        return
    if api_version is None:
        return
    group, _, version = str(api_version).partition("/")
    best = f"{CONFIG_GROUP}/v1" if minor is None else best_config_version(minor)
    hint = f"apiVersion: {best}"
    if group != CONFIG_GROUP or not version:
        yield config.at("C002", ("apiVersion",), f"apiVersion is {api_version!r}", hint)
    elif minors_reading(version) is None:
        message = f"no Kubernetes that is known reads {api_version}"
        yield config.at("C001", ("apiVersion",), message, hint)
    elif minor is not None and version not in config_versions(minor):
        message = f"Kubernetes 1.{minor} does not read {api_version}"
        if version == "v1beta2" and minor >= 23:
            hint += " (scoring weights differ between v1beta2 and its successors)"
        hint += f"; {migrate_command(config.places.file, minor)} rewrites it"
        yield config.at("C001", ("apiVersion",), message, hint)
    elif minor is not None and is_deprecated_config(version, minor):
        message = f"{api_version} is deprecated in 1.{minor}"
        hint += f"; {migrate_command(config.places.file, minor)} rewrites it"
        yield config.at("C004", ("apiVersion",), message, hint)
