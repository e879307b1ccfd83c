"""Completes a scheduler configuration for the minor and the target that it is meant for.

A user's file is taken as it is; what must be filled in is spliced in. An inline configuration is
written out by us.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kschedpatch.core.kubeversions import (
    CONFIG_GROUP,
    CONFIG_KIND,
    best_config_version,
    config_versions,
    is_deprecated_config,
)
from kschedpatch.core.yamltext import emit
from kschedpatch.core.yamltext.nodes import Mapping, value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import read
from kschedpatch.core.yamltext.splice import respell
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, Path, has_errors

INSECURE_LOOPBACK = "127.0.0.1:10251"


@dataclass(frozen=True, slots=True)
class ConfigText:
    """A configuration as it came: a file's text with its nodes, or an inline value."""

    value: dict[str, Any]
    places: Places
    prefix: Path
    """Where the configuration starts in the file that ``places`` knows."""
    text: str | None = None
    """None for an inline one."""

    def at(self, code: str, path: Path, message: str, hint: str = "") -> Finding:
        return self.places.at(code, (*self.prefix, *path), message, hint)


@dataclass(frozen=True, slots=True)
class ConfigReading:
    config: ConfigText | None
    findings: tuple[Finding, ...]


def read_config(data: bytes, file: str) -> ConfigReading:
    """A configuration file. Its kind must be right if it is given at all."""
    reading = read(data)
    findings = [finding.in_file(file) for finding in reading.findings]
    if has_errors(findings):
        return ConfigReading(None, tuple(findings))
    if not reading.documents or value_of(reading.documents[0]) is None:
        return ConfigReading(None, (found("Y014", "the file is empty", file=file),))
    root = reading.documents[0]
    places = Places(file, root)
    if len(reading.documents) > 1:
        line = reading.documents[1].line + 1
        message = "a second document: the scheduler reads only one"
        findings.append(found("Y013", message, file=file, line=line))
    if not isinstance(root, Mapping):
        return ConfigReading(None, (*findings, places.at("Y016", (), "not a mapping")))
    config = ConfigText(value_of(root), places, (), reading.text)
    return ConfigReading(config, tuple(findings))


def version_findings(config: ConfigText, minor: int | None) -> Iterator[Finding]:
    """Whether this minor's scheduler reads a configuration of that apiVersion and kind."""
    kind, api_version = config.value.get("kind"), config.value.get("apiVersion")
    if kind not in (None, CONFIG_KIND):
        yield config.at("C002", ("kind",), f"kind is {kind!r}", f"kind: {CONFIG_KIND}")
        return
    if api_version is None:
        return
    group, _, version = str(api_version).partition("/")
    if group != CONFIG_GROUP or not version:
        hint = f"apiVersion: {CONFIG_GROUP}/v1" if minor is None else best_config_version(minor)
        yield config.at("C002", ("apiVersion",), f"apiVersion is {api_version!r}", hint)
    elif minor is not None and version not in config_versions(minor):
        message = f"Kubernetes 1.{minor} does not read {api_version}"
        hint = f"apiVersion: {best_config_version(minor)}"
        if version == "v1beta2" and minor >= 23:
            hint += " (scoring weights differ between v1beta2 and its successors)"
        yield config.at("C001", ("apiVersion",), message, hint)
    elif minor is not None and is_deprecated_config(version, minor):
        message = f"{api_version} is deprecated in 1.{minor}"
        yield config.at("C004", ("apiVersion",), message, f"{best_config_version(minor)}")


def complete(config: ConfigText, minor: int, kubeconfig: str) -> str:
    """The configuration's final text. ``kubeconfig`` is empty for a Deployment (in-cluster)."""
    value = copy.deepcopy(config.value)
    filled: dict[str, Any] = {
        "apiVersion": value.pop("apiVersion", None) or best_config_version(minor),
        "kind": value.pop("kind", None) or CONFIG_KIND,
        **value,
    }
    connection = filled.get("clientConnection")
    if kubeconfig and (connection is None or isinstance(connection, dict)):
        connection = dict(connection or {})
        if not connection.get("kubeconfig"):
            connection["kubeconfig"] = kubeconfig
        filled["clientConnection"] = connection
    if minor == 22:
        # There --port=0 counts for nothing with --config, and an unencrypted port 10251 opens on
        # every address of the node. 1.22 refuses an empty address and port 0 alike, so it can't
        # be closed: at least it listens on the loopback only.
        filled.setdefault("healthzBindAddress", INSECURE_LOOPBACK)
        filled.setdefault("metricsBindAddress", INSECURE_LOOPBACK)
    if config.text is None or config.places.root is None:
        return emit.document(filled)
    return respell(config.text, config.places.root, filled).text
