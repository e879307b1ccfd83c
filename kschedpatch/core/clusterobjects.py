"""The objects that a patch needs in the cluster: its RBAC, and the user's own manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.rbac.objects import (
    Grantee,
    lease_objects,
    manifest_objects,
    policy_rule,
    rule_problem,
    rules_as_roles,
    static_pod,
)
from kschedpatch.core.rbac.risks import risks_of
from kschedpatch.core.schedconfig.election import Election
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import read
from kschedpatch.model.clusterplan import Key, ref_of
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, Path
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


def rbac_for(
    given: PatchInput,
    version: KubeVersion | None,
    chosen: Election,
    grantee: Grantee | None = None,
) -> Objects:
    """For the static pod's user, if nobody else is named."""
    patch = given.patch
    grantee = grantee or static_pod(patch.metadata.name)
    findings = [*_rule_findings(given)]
    objects = rules_as_roles(patch, grantee)
    manifests = manifest_objects(patch, given.sources, grantee)
    findings += manifests.findings
    objects += manifests.objects
    if version is not None:
        lease, notes = lease_objects(chosen, version, patch.metadata.name, grantee)
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
            for path, item in _items(body):
                problem = _object_problem(item)
                if problem:
                    findings.append(Places(name, document).at("P004", path, problem))
                else:
                    objects.append(ClusterObject(item, name))
        if PLACEHOLDER.encode() in source.content:
            message = f"{PLACEHOLDER} is a placeholder"
            findings.append(found("P010", message, file=name, hint="put your own image there"))
    return Objects(tuple(objects), tuple(findings))


def _items(body: Any) -> Iterator[tuple[Path, Any]]:
    """A List (``kubectl get -o yaml`` writes one) is taken for what it holds."""
    if not isinstance(body, dict) or body.get("kind") != "List":
        yield (), body
        return
    items = body.get("items")
    for index, item in enumerate(items if isinstance(items, list) else ()):
        yield ("items", index), item


def twice(objects: Iterable[ClusterObject]) -> Iterator[Finding]:
    """Two objects of one name: the second would win without a word."""
    first: dict[Key, ClusterObject] = {}
    for item in objects:
        key = ref_of(item.body).key
        if key in first:
            message = f"{item.title} is there twice, also in {first[key].source}"
            yield found("P004", message, file=item.source, hint="leave one of them out")
        first.setdefault(key, item)


def _object_problem(body: Any) -> str:
    if not isinstance(body, dict):
        return "not an object"
    metadata = body.get("metadata")
    if not isinstance(body.get("kind"), str) or not isinstance(body.get("apiVersion"), str):
        return "an object needs apiVersion and kind"
    if isinstance(metadata, dict) and metadata.get("generateName") and not metadata.get("name"):
        return "generateName makes another object with every run: give it a name (metadata.name)"
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return "an object needs metadata.name"
    if str(body["kind"]).endswith("List") and isinstance(body.get("items"), list):
        return f"a {body['kind']} can't be applied: write its items as documents of their own"
    for part in ("labels", "annotations"):
        if not isinstance(metadata.get(part) or {}, dict):
            return f"metadata.{part} is no mapping"
    return ""
