"""The objects that a patch needs in the cluster: its RBAC, and the user's own manifests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.rbac.objects import (
    lease_objects,
    manifest_objects,
    policy_rule,
    rule_problem,
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


#: Recipes name a registry of this name where the user's own belongs.
PLACEHOLDER = "registry.example.com/"


class Objects(NamedTuple):
    objects: tuple[ClusterObject, ...]
    findings: tuple[Finding, ...]


def rbac_for(given: PatchInput, version: KubeVersion | None, chosen: Election) -> Objects:
    patch = given.patch
    findings = [*_rule_findings(given)]
    objects = rules_as_roles(patch)
    manifests = manifest_objects(patch, given.sources)
    findings += manifests.findings
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


def _rule_findings(given: PatchInput) -> Iterator[Finding]:
    for index, rule in enumerate(given.patch.spec.rbac.rules):
        path = ("spec", "rbac", "rules", index)
        body = policy_rule(rule)
        problem = rule_problem(body, namespaced=rule.namespace is not None)
        if problem:
            yield given.places.at("R003", path, problem)
        for risk in risks_of(body):
            yield given.places.at("R001", path, risk.told)


def unknown_lease(chosen: Election, given: PatchInput) -> list[Finding]:
    """For a plan without a version: nobody can say which rights another lease needs."""
    if not chosen.enabled or chosen.name == "kube-scheduler":
        return []
    message = f"whether the lease {chosen.name} needs rights of its own depends on the version"
    hint = "say it with --kubernetes-version"
    return [found("V002", message, file=given.places.file, hint=hint)]


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
        if PLACEHOLDER.encode() in source.content:
            message = f"{PLACEHOLDER} is a placeholder"
            findings.append(found("P010", message, file=name, hint="put your own image there"))
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
