"""Says in words what a broad right lets somebody do who can read scheduler.conf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

_WRITE = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_READ = frozenset({"get", "list", "watch"})


class Risk(NamedTuple):
    right: str
    allows: str

    @property
    def told(self) -> str:
        return f"{self.right}: whoever reads scheduler.conf can {self.allows}"


# (API group, resource, verbs, what it lets somebody do).
_RISKS: tuple[tuple[str, str, frozenset[str], str], ...] = (
    ("", "secrets", _READ, "read Secrets, tokens and passwords among them"),
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


def _words(rule: dict[str, Any], key: str) -> set[str]:
    value = rule.get(key)
    return {word for word in value if isinstance(word, str)} if isinstance(value, list) else set()


def risks_of(rule: Any) -> Iterator[Risk]:
    """What one rule lets somebody do beyond looking at the objects that a plugin needs."""
    if not isinstance(rule, dict):
        return
    groups, resources, verbs = (_words(rule, key) for key in ("apiGroups", "resources", "verbs"))
    for verb in sorted(verbs & {"escalate", "bind", "impersonate"}):
        yield Risk(f"the verb {verb}", "become anybody in the cluster")
    if "*" in resources and ("*" in verbs or verbs & _WRITE):
        what = "everything in the cluster" if "*" in groups else "everything in these API groups"
        yield Risk(f"{'/'.join(sorted(verbs))} on *", f"change {what}")
        return
    named = list(_known_risks(groups, resources, verbs))
    yield from named
    if "*" in verbs and not named:
        right = f"* on {', '.join(sorted(resources))}"
        yield Risk(right, "do everything with them, delete included")


def _known_risks(groups: set[str], resources: set[str], verbs: set[str]) -> Iterator[Risk]:
    for group, resource, risky, allows in _RISKS:
        parent = f"{resource.partition('/')[0]}/*"
        if not {resource, "*"} & resources and not ("/" in resource and parent in resources):
            continue
        have = sorted(risky & verbs) or (["*"] if "*" in verbs else [])
        if have and {group, "*"} & groups:
            yield Risk(f"{'/'.join(have)} on {resource}", allows)
