"""Says in words what a broad right lets somebody do who can read scheduler.conf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kschedpatch.model.finding import Path

_WRITE = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_READ = frozenset({"get", "list", "watch"})


class Risk(NamedTuple):
    path: Path
    right: str
    allows: str


# (API group, resource, verbs, what it lets somebody do); the first match is told.
_RISKS: tuple[tuple[str, str, frozenset[str], str], ...] = (
    ("", "secrets", _READ, "read every Secret, tokens and passwords among them"),
    ("", "secrets", _WRITE, "replace Secrets that workloads trust"),
    ("", "pods", frozenset({"update", "patch"}),
     "change any pod: its labels, its image, and so which Services and policies take it in"),
    ("", "pods", frozenset({"create"}), "start pods with any ServiceAccount and host path"),
    ("", "pods/exec", _WRITE | _READ, "run commands in any container"),
    ("", "pods/ephemeralcontainers", frozenset({"update", "patch"}),
     "start a container inside any pod"),
    ("", "nodes/proxy", _WRITE | _READ, "run commands through every kubelet"),
    ("", "serviceaccounts/token", frozenset({"create"}), "take the identity of any ServiceAccount"),
    ("", "nodes", frozenset({"update", "patch"}), "move workloads by labels and taints of nodes"),
    ("", "configmaps", _WRITE, "change the configuration of workloads, kubeadm's included"),
    ("apps", "deployments", _WRITE, "start pods of any kind"),
    ("apps", "daemonsets", _WRITE, "start pods on every node"),
    ("batch", "jobs", frozenset({"create"}), "start pods of any kind"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", _WRITE,
     "change every request to the API server"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", _WRITE,
     "block every request to the API server"),
    ("rbac.authorization.k8s.io", "clusterroles", frozenset({"escalate", "bind"}) | _WRITE,
     "give rights"),
    ("rbac.authorization.k8s.io", "clusterrolebindings", _WRITE, "give rights"),
    ("certificates.k8s.io", "certificatesigningrequests/approval", _WRITE,
     "make certificates for anybody"),
)  # fmt: skip


def risks_of(rules: list[Any], path: Path) -> Iterator[Risk]:
    for index, rule in enumerate(rules):
        if isinstance(rule, dict):
            yield from _risks_of_rule(rule, (*path, index))


def _words(rule: dict[str, Any], key: str) -> list[str]:
    value = rule.get(key)
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def _risks_of_rule(rule: dict[str, Any], path: Path) -> Iterator[Risk]:
    groups, resources, verbs = (_words(rule, key) for key in ("apiGroups", "resources", "verbs"))
    for verb in verbs:
        if verb in {"escalate", "bind", "impersonate"}:
            yield Risk(path, f"the verb {verb}", "become anybody in the cluster")
    if "*" in resources and ("*" in verbs or set(verbs) & _WRITE):
        what = "everything in the cluster" if "*" in groups else f"everything in {groups}"
        yield Risk(path, f"{'/'.join(verbs)} on *", f"change {what}")
        return
    if "*" in verbs:
        yield Risk(path, f"* on {', '.join(resources)}", "do everything with them, delete included")
    told: set[str] = set()
    for group, resource, risky, allows in _RISKS:
        if resource in told or not ({resource, "*"} & set(resources)):
            continue
        if not ({group, "*"} & set(groups)):
            continue
        have = sorted(risky & set(verbs)) or (["*"] if "*" in verbs else [])
        if have:
            told.add(resource)
            yield Risk(path, f"{'/'.join(have)} on {resource}", allows)
