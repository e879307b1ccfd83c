"""Outcomes as JSON and YAML: one envelope, with a version of its own, for every command."""

from __future__ import annotations

import json
from typing import Any

from kschedpatch.core.yamltext import emit
from kschedpatch.model.finding import Finding
from kschedpatch.model.outcome import Outcome

API_VERSION = "kschedpatch.io/v1"


def envelope(outcome: Outcome) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": outcome.kind,
        "exitCode": outcome.exit_code,
        "changed": outcome.changed,
        "findings": [_finding(finding) for finding in outcome.findings],
        **outcome.data,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": str(finding.severity),
        "message": finding.message,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "path": finding.path,
        "hint": finding.hint,
    }


def as_json(outcome: Outcome) -> str:
    # ASCII only: nothing a file holds can reach the terminal as a control character.
    return json.dumps(envelope(outcome), indent=2) + "\n"


def as_yaml(outcome: Outcome) -> str:
    return emit.document(envelope(outcome))
