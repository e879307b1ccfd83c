"""Builds the RBAC objects of a patch: from its rules, its manifests, and its configuration."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from kschedpatch.core.kubeversions import lease_is_granted, needs_endpoints_right
from kschedpatch.core.objects.marks import MANAGED_BY, PATCH_LABEL
from kschedpatch.core.rbac.risks import risks_of
from kschedpatch.core.schedconfig.election import Election
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import read
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.patch import Rule, SchedulerPatch
from kschedpatch.model.plan import ClusterObject
from kschedpatch.model.sources import Sources

API = "rbac.authorization.k8s.io"
SCHEDULER_USER = {"apiGroup": API, "kind": "User", "name": "system:kube-scheduler"}

# What `kubectl get -o yaml` shows beside what somebody wrote; the API server refuses it anew.
_SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_ROLES = {"Role": "RoleBinding", "ClusterRole": "ClusterRoleBinding"}
_KINDS = frozenset(_ROLES) | frozenset(_ROLES.values())


class Grantee(NamedTuple):
    """Who gets the rights of a patch, and what the roles that give them are called."""

    subject: dict[str, str]
    role: str
    told: str

    def is_in(self, subjects: Any) -> bool:
        """A ServiceAccount is named with its namespace; a user has none."""
        return any(
            isinstance(item, dict)
            and all(item.get(key) == self.subject.get(key) for key in ("kind", "name", "namespace"))
            for item in (subjects if isinstance(subjects, list) else ())
        )


def static_pod(patch_name: str) -> Grantee:
    """As whom a static pod's scheduler acts: the user of scheduler.conf."""
    told = "User system:kube-scheduler, as which a static pod acts"
    return Grantee(SCHEDULER_USER, f"kschedpatch:{patch_name}", told)


def service_account(namespace: str, deployment: str, account: str) -> Grantee:
    """A Deployment's roles bear its name: the same patch may be for several targets."""
    return Grantee(
        {"kind": "ServiceAccount", "name": account, "namespace": namespace},
        f"kschedpatch:{namespace}:{deployment}",
        f"ServiceAccount {namespace}/{account}, as which the Deployment's pods act",
    )


class RbacResult(NamedTuple):
    objects: tuple[ClusterObject, ...]
    findings: tuple[Finding, ...]


def labels_for(patch_name: str) -> dict[str, str]:
    return {MANAGED_BY: "kschedpatch", PATCH_LABEL: patch_name}


def rules_as_roles(patch: SchedulerPatch, grantee: Grantee) -> list[ClusterObject]:
    """One ClusterRole for what holds everywhere, one Role for each namespace."""
    by_namespace: dict[str | None, list[dict[str, Any]]] = {}
    for rule in patch.spec.rbac.rules:
        by_namespace.setdefault(rule.namespace, []).append(policy_rule(rule))
    objects: list[ClusterObject] = []
    for namespace, rules in by_namespace.items():
        objects += role_and_binding(
            grantee.role, namespace, rules, patch.metadata.name, "rbac.rules", grantee
        )
    return objects


def policy_rule(rule: Rule) -> dict[str, Any]:
    fields = {
        "apiGroups": rule.api_groups or (() if rule.non_resource_urls else ("",)),
        "resources": rule.resources,
        "resourceNames": rule.resource_names,
        "nonResourceURLs": rule.non_resource_urls,
        "verbs": rule.verbs,
    }
    return {key: list(value) for key, value in fields.items() if value}


def rule_problem(rule: Any, *, namespaced: bool) -> str:
    """Why the API server would refuse a rule; empty where it would not."""
    if not isinstance(rule, dict):
        return "a rule is a mapping"
    if not rule.get("verbs"):
        return "the rule has no verbs"
    if bool(rule.get("resources")) == bool(rule.get("nonResourceURLs")):
        return "a rule names resources, or nonResourceURLs, and not both"
    if rule.get("nonResourceURLs") and namespaced:
        return "nonResourceURLs belong to no namespace"
    if rule.get("resources") and not rule.get("apiGroups"):
        return 'a rule for resources names their apiGroups; the core group is ""'
    return ""


def role_and_binding(
    name: str,
    namespace: str | None,
    rules: list[dict[str, Any]],
    patch_name: str,
    source: str,
    grantee: Grantee,
) -> list[ClusterObject]:
    kind = "Role" if namespace else "ClusterRole"
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = labels_for(patch_name)
    role = {"apiVersion": f"{API}/v1", "kind": kind, "metadata": metadata, "rules": rules}
    return [ClusterObject(role, source), _binding(role, patch_name, source, grantee)]


def _binding(role: dict[str, Any], patch_name: str, source: str, grantee: Grantee) -> ClusterObject:
    metadata = role["metadata"]
    return binding(
        str(metadata["name"]),
        str(metadata.get("namespace") or ""),
        (role["kind"], metadata["name"]),
        patch_name,
        source,
        grantee,
    )


def binding(
    name: str,
    namespace: str,
    role: tuple[str, str],
    patch_name: str,
    source: str,
    grantee: Grantee,
) -> ClusterObject:
    """``role`` is its kind and name; with a namespace it holds there alone."""
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = labels_for(patch_name)
    body = {
        "apiVersion": f"{API}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": API, "kind": role[0], "name": role[1]},
        "subjects": [dict(grantee.subject)],
    }
    return ClusterObject(body, source)


def lease_objects(
    chosen: Election, version: KubeVersion, patch_name: str, grantee: Grantee
) -> tuple[list[ClusterObject], list[Finding]]:
    """What leader election under another lease needs and Kubernetes' roles do not give."""
    # The role for all leases of kube-system is bound to the scheduler's user, and nobody else.
    minor = version.minor if grantee.subject["kind"] == "User" else 0
    granted = lease_is_granted(minor, chosen.name, chosen.namespace)
    if not chosen.enabled or granted:
        return [], []
    rules: list[dict[str, Any]] = [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [chosen.name],
            "verbs": ["get", "update", "list", "watch"],
        },
    ]
    if needs_endpoints_right(version):
        rules += [
            {"apiGroups": [""], "resources": ["endpoints"], "verbs": ["create"]},
            {
                "apiGroups": [""],
                "resources": ["endpoints"],
                "resourceNames": [chosen.name],
                "verbs": ["get", "update"],
            },
        ]
    who = grantee.told.partition(",")[0]
    message = f"rights on the lease {chosen.namespace}/{chosen.name} are added for {who}"
    name = f"{grantee.role}:lease"
    objects = role_and_binding(name, chosen.namespace, rules, patch_name, "config", grantee)
    return objects, [found("R005", message)]


def manifest_objects(patch: SchedulerPatch, sources: Sources, grantee: Grantee) -> RbacResult:
    """The user's own RBAC manifests, labelled as ours; a role that nothing binds gets a binding."""
    objects: list[ClusterObject] = []
    findings: list[Finding] = []
    for name in patch.spec.rbac.manifests:
        source = sources.get(name)
        if source is None or source.content is None:
            continue  # the missing file is a finding already
        reading = read(source.content)
        findings += [finding.in_file(name) for finding in reading.findings]
        for document in reading.documents:
            body = value_of(document)
            if body is None:
                continue
            places = Places(name, document)
            problems = list(_manifest_findings(body, places, grantee))
            findings += problems
            if not any(problem.is_error for problem in problems):
                objects.append(ClusterObject(_labelled(body, patch.metadata.name), name))
    bound = {
        (item.body["roleRef"]["kind"], _namespace(item.body), item.body["roleRef"]["name"])
        for item in objects
        if item.body["kind"] not in _ROLES and grantee.is_in(item.body.get("subjects"))
    }
    unbound = [
        _binding(item.body, patch.metadata.name, item.source, grantee)
        for item in objects
        if item.body["kind"] in _ROLES
        and (item.body["kind"], _namespace(item.body), item.body["metadata"]["name"]) not in bound
    ]
    return RbacResult((*objects, *unbound), tuple(findings))


def _namespace(body: dict[str, Any]) -> str:
    return str(body["metadata"].get("namespace") or "")


def _labelled(body: dict[str, Any], patch_name: str) -> dict[str, Any]:
    result = copy.deepcopy(body)
    metadata = result["metadata"]
    for key in _SERVER_FIELDS:
        metadata.pop(key, None)
    own = metadata.get("labels") or {}
    # Who else says that it manages the object keeps that label: ours is enough for us.
    metadata["labels"] = {**labels_for(patch_name), **own, PATCH_LABEL: patch_name}
    return result


def _manifest_findings(body: Any, places: Places, grantee: Grantee) -> Iterator[Finding]:
    if not isinstance(body, dict):
        yield places.at("Y016", (), "not a mapping")
        return
    kind, api_version = body.get("kind"), body.get("apiVersion")
    if kind not in _KINDS or api_version != f"{API}/v1":
        message = f"{api_version}, {kind} is no RBAC object"
        yield places.at("R002", ("kind",), message, "list the file under objects")
        return
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        yield places.at("R003", ("metadata",), "the object has no name")
        return
    name = metadata["name"]
    if name.startswith("system:"):
        message = f"{name} belongs to Kubernetes, which keeps or puts back its own rules"
        yield places.at("R003", ("metadata", "name"), message, "give it a name of its own")
    if kind in {"Role", "RoleBinding"} and not metadata.get("namespace"):
        yield places.at("R003", ("metadata",), f"a {kind} needs a namespace")
    if kind in _ROLES:
        rules = body.get("rules")
        if not isinstance(rules, list):
            yield places.at("R003", ("rules",), "the role has no rules")
            return
        for index, rule in enumerate(rules):
            problem = rule_problem(rule, namespaced=kind == "Role")
            if problem:
                yield places.at("R003", ("rules", index), problem)
            for risk in risks_of(rule):
                yield places.at("R001", ("rules", index), risk.told)
        return
    role = body.get("roleRef")
    if not isinstance(role, dict) or not role.get("name") or role.get("kind") not in _ROLES:
        yield places.at("R003", ("roleRef",), "the binding names no role")
    if kind == "ClusterRoleBinding" and isinstance(role, dict) and role.get("kind") == "Role":
        yield places.at("R003", ("roleRef",), "a ClusterRoleBinding binds a ClusterRole")
    if not grantee.is_in(body.get("subjects")):
        yield places.at("R004", ("subjects",), f"it does not bind {grantee.told}")
