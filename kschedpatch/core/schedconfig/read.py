"""A scheduler configuration as it came: from a file, or inline in a patch."""

from __future__ import annotations

from typing import Any, NamedTuple

from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.yamltext.jsontext import json_value, starts_as_json
from kschedpatch.core.yamltext.nodes import Mapping, value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import Reading, read
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, Path, has_errors


class ConfigText(NamedTuple):
    """A configuration as it came: a file's text with its nodes, or an inline value."""

    value: dict[str, Any]
    places: Places
    prefix: Path
    """Where the configuration starts in the file that ``places`` knows."""
    text: str | None = None
    """None for an inline one."""

    def at(self, code: str, path: Path, message: str, hint: str = "") -> Finding:
        return self.places.at(code, (*self.prefix, *path), message, hint)

    def at_key(self, code: str, path: Path, message: str, hint: str = "") -> Finding:
        """About the key itself, which should not be there."""
        return self.places.at_key(code, (*self.prefix, *path), message, hint)


class ConfigReading(NamedTuple):
    config: ConfigText | None
    findings: tuple[Finding, ...]


def read_config(data: bytes, file: str) -> ConfigReading:
    """A configuration file that may be edited. Its kind must be right if it is given at all."""
    return _with_kind(read_mapping(data, file))


def config_as_read(reading: Reading, file: str) -> ConfigReading:
    """The same of a file that is only judged, and was read as the scheduler reads it."""
    return _with_kind(mapping_as_read(reading, file))


def _with_kind(reading: ConfigReading) -> ConfigReading:
    config, findings = reading
    if config is not None and config.value.get("kind") is None:
        # An apiVersion can be filled in; without a kind it may be any file at all.
        hint = "kind: KubeSchedulerConfiguration"
        findings = (*findings, config.at("C002", (), "kind is missing", hint))
    return ConfigReading(config, findings)


def read_mapping(data: bytes, file: str) -> ConfigReading:
    """The one document of a file, as YAML or as JSON, whatever its kind."""
    reading = read(data)
    config, findings = mapping_as_read(reading, file)
    if config is None:
        return ConfigReading(None, findings)
    if len(reading.documents) > 1:
        line = reading.documents[1].line + 1
        message = "a second document: the scheduler reads only one"
        findings = (*findings, found("Y013", message, file=file, line=line))
    if starts_as_json(reading.text):
        # A number with a point is a whole one to YAML and none to JSON.
        try:
            config = config._replace(value=json_value(reading.text))
        except ValueError as error:
            line = getattr(error, "lineno", 0)
            message, hint = "it starts with { but is no JSON", "use block style"
            wrong = found("Y019", message, file=file, line=line, hint=hint)
            return ConfigReading(None, (*findings, wrong))
    return ConfigReading(config, findings)


def mapping_as_read(reading: Reading, file: str) -> ConfigReading:
    """The first document, if nothing is wrong with the text as such."""
    findings = tuple(finding.in_file(file) for finding in reading.findings)
    # A key that stands there twice is no reason to stop: of its values the last one counts.
    if has_errors(finding for finding in findings if finding.code != "Y008"):
        return ConfigReading(None, findings)
    if not reading.documents or value_of(reading.documents[0]) is None:
        return ConfigReading(None, (*findings, found("Y014", "the file is empty", file=file)))
    root = reading.documents[0]
    places = Places(file, root)
    if not isinstance(root, Mapping):
        return ConfigReading(None, (*findings, places.at("Y016", (), "not a mapping")))
    return ConfigReading(ConfigText(value_of(root), places, (), reading.text), findings)


def config_text(given: PatchInput) -> tuple[ConfigText | None, tuple[Finding, ...]]:
    """The configuration that a patch brings, inline or by file, with what is wrong with it."""
    config = given.patch.spec.config
    if config is None:
        return None, ()
    if config.inline is not None:
        return ConfigText(config.inline, given.places, ("spec", "config", "inline")), ()
    source = given.sources.get(config.file or "")
    if source is None or source.content is None:
        return None, ()  # the missing file is a finding already
    reading = read_config(source.content, source.name)
    return reading.config, reading.findings
