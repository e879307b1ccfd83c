"""The objects that a patch needs in the cluster: its RBAC, and the user's own manifests."""

from __future__ import annotations

from typing import Any, NamedTuple

from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.rbac.objects import (
    lease_objects,
    manifest_objects,
    policy_rule,
    rules_as_roles,
)
from kschedpatch.core.rbac.risks import risks_of
from kschedpatch.core.schedconfig.election import Election
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import read
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.plan import ClusterObject

#: User manifests may be CRDs, which are long; a bound all the same.
MAX_OBJECTS_BYTES = 512 * 1024
MAX_OBJECTS_NODES = 20_000


class Objects(NamedTuple):
    objects: tuple[ClusterObject, ...]
    findings: tuple[Finding, ...]


def rbac_for(given: PatchInput, version: KubeVersion | None, chosen: Election) -> Objects:
    patch = given.patch
    findings: list[Finding] = [*_rule_findings(given)]
    objects = rules_as_roles(patch)
    for index, rule in enumerate(patch.spec.rbac.rules):
        for risk in risks_of([policy_rule(rule)], ()):
            message = f"{risk.right}: whoever reads scheduler.conf can {risk.allows}"
            findings.append(given.places.at("R001", ("spec", "rbac", "rules", index), message))
    manifests = manifest_objects(patch, given.sources)
    findings += manifests.findings
    for item in manifests.objects:
        if isinstance(item.body.get("rules"), list):
            for risk in risks_of(item.body["rules"], ("rules",)):
                message = f"{risk.right}: whoever reads scheduler.conf can {risk.allows}"
                findings.append(found("R001", message, file=item.source, path=risk.path))
    objects += manifests.objects
    if version is not None:
        lease, notes = lease_objects(chosen, version, patch.metadata.name)
        objects += lease
        findings += notes
    if not patch.spec.rbac.manage and objects:
        findings += [
            found("R006", f"{item.title} is left to somebody else", file=given.places.file)
            for item in objects
        ]
        objects = []
    return Objects(tuple(objects), tuple(findings))


def _rule_findings(given: PatchInput) -> list[Finding]:
    findings = []
    for index, rule in enumerate(given.patch.spec.rbac.rules):
        path = ("spec", "rbac", "rules", index)
        if not rule.verbs:
            findings.append(given.places.at("R003", path, "the rule has no verbs"))
        if bool(rule.resources) == bool(rule.non_resource_urls):
            message = "a rule names resources, or nonResourceURLs, and not both"
            findings.append(given.places.at("R003", path, message))
        if rule.non_resource_urls and rule.namespace:
            message = "nonResourceURLs belong to no namespace"
            findings.append(given.places.at("R003", path, message))
    return findings


def object_files(given: PatchInput) -> Objects:
    """The documents of ``objects``, in order; what they are is for the API server to judge."""
    objects: list[ClusterObject] = []
    findings: list[Finding] = []
    for name in given.patch.spec.objects:
        source = given.sources.get(name)
        if source is None or source.content is None:
            continue  # the missing file is a finding already
        reading = read(source.content, max_bytes=MAX_OBJECTS_BYTES, max_nodes=MAX_OBJECTS_NODES)
        findings += [finding.in_file(name) for finding in reading.findings]
        for document in reading.documents:
            body = value_of(document)
            if body is None:
                continue
            problem = _object_problem(body)
            if problem:
                findings.append(Places(name, document).at("P004", (), problem))
            else:
                objects.append(ClusterObject(body, name))
    return Objects(tuple(objects), tuple(findings))


def _object_problem(body: Any) -> str:
    if not isinstance(body, dict):
        return "not an object"
    metadata = body.get("metadata")
    if not isinstance(body.get("kind"), str) or not isinstance(body.get("apiVersion"), str):
        return "an object needs apiVersion and kind"
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return "an object needs metadata.name"
    return ""
