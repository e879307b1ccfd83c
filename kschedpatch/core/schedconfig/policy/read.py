"""Reads a Policy as 1.22 does: strictly, but for the extenders.

Go's own JSON reader takes these, and that one neither minds the case of a key nor a key that it
does not know. Numbers must be written as whole numbers, and null is the same as nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

from kschedpatch.core.kubeversions import CONFIG_GROUP, POLICY_KIND
from kschedpatch.core.schedconfig.decode import Decoder
from kschedpatch.core.schedconfig.gotypes import Types
from kschedpatch.core.schedconfig.read import (
    ConfigReading,
    ConfigText,
    mapping_as_read,
    read_mapping,
)
from kschedpatch.core.yamltext.mismatch import mismatch
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import Reading
from kschedpatch.model.finding import Finding, Path, has_errors

#: The last minor that reads one.
LAST_MINOR = 22
# An empty group before the slash is no group.
_API_VERSIONS = ("v1", "/v1", f"{CONFIG_GROUP}/v1")

_TYPES: Types = {
    POLICY_KIND: {
        "apiVersion": "string",
        "kind": "string",
        "predicates": "[]PredicatePolicy",
        "priorities": "[]PriorityPolicy",
        "extenders": "[]Extender",
        "hardPodAffinitySymmetricWeight": "int32",
        "alwaysCheckAllPredicates": "bool",
    },
    "PredicatePolicy": {"name": "string", "argument": "PredicateArgument"},
    "PredicateArgument": {
        "serviceAffinity": "ServiceAffinity",
        "labelsPresence": "LabelsPresence",
    },
    "ServiceAffinity": {"labels": "[]string"},
    "LabelsPresence": {"labels": "[]string", "presence": "bool"},
    "PriorityPolicy": {"name": "string", "weight": "int64", "argument": "PriorityArgument"},
    "PriorityArgument": {
        "serviceAntiAffinity": "ServiceAntiAffinity",
        "labelPreference": "LabelPreference",
        "requestedToCapacityRatioArguments": "RequestedToCapacityRatioArguments",
    },
    "ServiceAntiAffinity": {"label": "string"},
    "LabelPreference": {"label": "string", "presence": "bool"},
    "RequestedToCapacityRatioArguments": {
        "shape": "[]UtilizationShapePoint",
        "resources": "[]ResourceSpec",
    },
    "UtilizationShapePoint": {"utilization": "int32", "score": "int32"},
    "ResourceSpec": {"name": "string", "weight": "int64"},
    "Extender": {
        **dict.fromkeys(
            ("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"), "string"
        ),
        **dict.fromkeys(("enableHttps", "nodeCacheCapable", "ignorable"), "bool"),
        **dict.fromkeys(("weight", "httpTimeout"), "int64"),
        "tlsConfig": "ExtenderTLSConfig",
        "managedResources": "[]ExtenderManagedResource",
    },
    "ExtenderTLSConfig": {
        "insecure": "bool",
        **dict.fromkeys(("serverName", "certFile", "keyFile", "caFile"), "string"),
        **dict.fromkeys(("certData", "keyData", "caData"), "bytes"),
    },
    "ExtenderManagedResource": {"name": "string", "ignoredByScheduler": "bool"},
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
    """A Policy file that is to be rewritten."""
    return _decoded(read_mapping(data, file))


def policy_as_read(reading: Reading, file: str) -> PolicyReading:
    """The same of a file that is only judged, and was read as the scheduler reads it."""
    # A key that stands there twice is no reason to stop: what else is wrong is told as well.
    return _decoded(mapping_as_read(reading, file), goes_on_after=("Y008",))


def _decoded(reading: ConfigReading, goes_on_after: tuple[str, ...] = ()) -> PolicyReading:
    given, findings = reading
    stops = has_errors(finding for finding in findings if finding.code not in goes_on_after)
    if given is None or given.text is None or stops:
        return PolicyReading(None, findings)
    decoder = _PolicyDecoder(given, _TYPES, POLICY_KIND, LAST_MINOR, [])
    value = decoder.decode(POLICY_KIND, given.value, ())
    found = (*findings, *_kind_findings(given), *decoder.findings)
    return PolicyReading(PolicyText(value, given.places, given.text), found)


def _kind_findings(given: ConfigText) -> Iterator[Finding]:
    kind, version = given.value.get("kind"), given.value.get("apiVersion")
    if kind not in (None, "", POLICY_KIND):
        yield given.at("L001", ("kind",), f"kind is {kind!r}", f"kind: {POLICY_KIND}")
    if version in (None, ""):
        yield given.at("L001", (), "apiVersion is missing", "apiVersion: v1")
    elif version not in _API_VERSIONS:
        message = f"there is no Policy in {version!r}"
        yield given.at("L001", ("apiVersion",), message, "apiVersion: v1")


class _PolicyDecoder(Decoder):
    def field_name(self, kind: str, key: str) -> str:
        fields = self.types[kind]
        if key in fields or not _is_loose(kind):
            return key
        return next((name for name in fields if name.lower() == key.lower()), key)

    def unknown(self, kind: str, key: str, path: Path) -> None:
        near = get_close_matches(key[:40], self.types[kind], n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else ""
        if _is_loose(kind):
            message = f"an extender has no field {key!r}: it is ignored"
            self.findings.append(self.config.at_key("L008", path, message, hint))
        else:
            self.findings.append(self.config.at_key("L003", path, f"unknown field {key!r}", hint))

    def wrong(self, path: Path, expected: str, value: Any) -> None:
        message, hint = mismatch(expected, value)
        if str(path[-1]).lower() == "httptimeout" and isinstance(value, str):
            hint = "a Policy gives it in nanoseconds: 30000000000 are 30 seconds"
        self.findings.append(self.config.at("L004", path, message, hint))


def _is_loose(kind: str) -> bool:
    return kind.startswith("Extender")
