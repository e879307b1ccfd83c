"""The whole judgement on one configuration file: everything that is wrong with it, in one call."""

from __future__ import annotations

from kschedpatch.core.schedconfig.checks import Surroundings, config_findings
from kschedpatch.core.schedconfig.read import ConfigText, config_as_read
from kschedpatch.core.schedconfig.versions import version_findings
from kschedpatch.model.finding import Finding, in_reading_order

#: The last minor whose strict decoder reads JSON as YAML once more.
_JSON_IS_YAML_TOO = 22


def judge(data: bytes, file: str, around: Surroundings) -> tuple[Finding, ...]:
    """A configuration as the scheduler reads it: nothing is filled in first, and what this tool
    would not edit is a warning."""
    from kschedpatch.core.yamltext.goyaml.reading import read_as_go

    text = read_as_go(data, json_as_yaml_too=around.minor == _JSON_IS_YAML_TOO)
    reading = config_as_read(text, file)
    findings = list(reading.findings)
    if reading.config is not None:
        findings += judge_config(reading.config, around)
        if reading.config.value.get("apiVersion") is None:
            findings.append(reading.config.at("C002", (), "apiVersion is missing"))
    return in_reading_order(findings)


def judge_config(config: ConfigText, around: Surroundings) -> list[Finding]:
    """A configuration that was read already; what is missing in it may still be filled in."""
    return [*version_findings(config, around.minor), *config_findings(config, around)]
