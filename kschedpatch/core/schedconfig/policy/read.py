"""Decodes a Policy as 1.22 does: strictly, but for the extenders.

Go's own JSON reader takes these, and that one neither minds the case of a key nor a key that it
does not know. Numbers must be written as whole numbers, and null is the same as nothing at all.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

from kschedpatch.core.kubeversions import CONFIG_GROUP
from kschedpatch.core.yamltext.nodes import Mapping, value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import read
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, Path, has_errors

KIND = "Policy"
_API_VERSIONS = ("v1", f"{CONFIG_GROUP}/v1")

_INT32, _INT64 = range(-(2**31), 2**31), range(-(2**63), 2**63)
_LABELS = ["string"]
# A struct is a dict of its fields, a list of something has it as its only item.
_POINT = {"utilization": _INT32, "score": _INT32}
_RESOURCE = {"name": "string", "weight": _INT64}
_PREDICATE = {
    "name": "string",
    "argument": {
        "serviceAffinity": {"labels": _LABELS},
        "labelsPresence": {"labels": _LABELS, "presence": "bool"},
    },
}
_PRIORITY = {
    "name": "string",
    "weight": _INT64,
    "argument": {
        "serviceAntiAffinity": {"label": "string"},
        "labelPreference": {"label": "string", "presence": "bool"},
        "requestedToCapacityRatioArguments": {"shape": [_POINT], "resources": [_RESOURCE]},
    },
}
_TLS = {
    "insecure": "bool",
    **dict.fromkeys(("serverName", "certFile", "keyFile", "caFile"), "string"),
    **dict.fromkeys(("certData", "keyData", "caData"), "base64"),
}
_EXTENDER = {
    **dict.fromkeys(("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"),
                    "string"),
    **dict.fromkeys(("enableHttps", "nodeCacheCapable", "ignorable"), "bool"),
    **dict.fromkeys(("weight", "httpTimeout"), _INT64),
    "tlsConfig": _TLS,
    "managedResources": [{"name": "string", "ignoredByScheduler": "bool"}],
}  # fmt: skip
_POLICY: dict[str, Any] = {
    "apiVersion": "string",
    "kind": "string",
    "predicates": [_PREDICATE],
    "priorities": [_PRIORITY],
    "extenders": [_EXTENDER],
    "hardPodAffinitySymmetricWeight": _INT32,
    "alwaysCheckAllPredicates": "bool",
}


class PolicyText(NamedTuple):
    """A Policy as it came, and as 1.22 understands it."""

    value: dict[str, Any]
    """Without what is null; an extender's keys are spelt as the type spells them."""
    places: Places
    text: str


class PolicyReading(NamedTuple):
    policy: PolicyText | None
    findings: tuple[Finding, ...]


def read_policy(data: bytes, file: str) -> PolicyReading:
    reading = read(data)
    findings = [finding.in_file(file) for finding in reading.findings]
    root = reading.documents[0] if reading.documents else None
    places = Places(file, root)
    if has_errors(findings):
        return PolicyReading(None, tuple(findings))
    if root is None or value_of(root) is None:
        return PolicyReading(None, (*findings, found("Y014", "the file is empty", file=file)))
    if not isinstance(root, Mapping):
        return PolicyReading(None, (*findings, places.at("Y016", (), "a Policy is a mapping")))
    value = value_of(root)
    if data.lstrip().startswith(b"{"):
        # What starts like JSON is read as JSON: no comments, and 1.0 is no whole number.
        try:
            value = json.loads(data)
        except ValueError as error:
            message = f"it starts like JSON and is none: {error}"
            return PolicyReading(None, (*findings, places.at("L004", (), message)))
    elif len(reading.documents) > 1:
        line = reading.documents[1].line + 1
        findings.append(found("Y013", "a second document is not read", file=file, line=line))
    findings += _kind_findings(value, places)
    decoder = _Decoder(places)
    decoded = decoder.struct(value, _POLICY, (), strict=True)
    findings += decoder.findings
    return PolicyReading(PolicyText(decoded, places, reading.text), tuple(findings))


def _kind_findings(value: dict[str, Any], places: Places) -> Iterator[Finding]:
    kind, version = value.get("kind"), value.get("apiVersion")
    if kind not in (None, "", KIND):
        yield places.at("L001", ("kind",), f"kind is {kind!r}", f"kind: {KIND}")
    if version in (None, ""):
        yield places.at("L001", (), "apiVersion is missing", "apiVersion: v1")
    elif version not in _API_VERSIONS:
        message = f"there is no Policy in {version!r}"
        yield places.at("L001", ("apiVersion",), message, "apiVersion: v1")


class _Decoder:
    def __init__(self, places: Places) -> None:
        self.places = places
        self.findings: list[Finding] = []

    def struct(
        self, value: dict[str, Any], fields: dict[str, Any], path: Path, *, strict: bool
    ) -> dict[str, Any]:
        folded = {field.lower(): field for field in fields}
        decoded: dict[str, Any] = {}
        for key, item in value.items():
            field: str | None = key if key in fields else None
            if field is None and not strict:
                field = folded.get(key.lower())
            if field is None:
                self._unknown(key, fields, (*path, key), strict=strict)
            elif item is not None:
                loose = not strict or field == "extenders"
                result = self._decode(item, fields[field], (*path, key), strict=not loose)
                if result is not None:
                    decoded[field] = result
        return decoded

    def _unknown(self, key: str, fields: dict[str, Any], path: Path, *, strict: bool) -> None:
        near = get_close_matches(key[:40], fields, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else ""
        if strict:
            self.findings.append(self.places.at_key("L003", path, f"unknown field {key!r}", hint))
        else:
            message = f"an extender has no field {key!r}: it is ignored"
            self.findings.append(self.places.at_key("L008", path, message, hint))

    def _decode(self, value: Any, kind: Any, path: Path, *, strict: bool) -> Any:
        match kind:
            case dict() if isinstance(value, dict):
                return self.struct(value, kind, path, strict=strict)
            case list() if isinstance(value, list):
                # An item that is null is one with nothing in it.
                empty: Any = {} if isinstance(kind[0], dict) else ""
                return [
                    empty if item is None
                    else self._decode(item, kind[0], (*path, index), strict=strict)
                    for index, item in enumerate(value)
                ]  # fmt: skip
            case range() if isinstance(value, int) and not isinstance(value, bool):
                if value in kind:
                    return value
            case "string" | "base64" if isinstance(value, str):
                if kind == "string" or _is_base64(value):
                    return value
            case "bool" if isinstance(value, bool):
                return value
        message = f"{_wanted(kind)} is needed here"
        self.findings.append(self.places.at("L004", path, message, _hint(path, value)))
        return None


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except binascii.Error:
        return False
    return True


def _wanted(kind: Any) -> str:
    match kind:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case range():
            return f"a whole number of {kind.stop.bit_length()} bits"
    return {"string": "a string", "bool": "true or false"}.get(kind, "base64 text")


def _hint(path: Path, value: Any) -> str:
    if path and str(path[-1]).lower() == "httptimeout" and isinstance(value, str):
        return "a Policy gives it in nanoseconds: 30000000000 are 30 seconds"
    return ""
