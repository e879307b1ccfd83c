"""Does a namespace that kschedpatch brought hold things of others by now? With it they would go."""

from __future__ import annotations

from collections.abc import Iterable

from kschedpatch.model.clusterplan import Key

#: What people make themselves; the rest is made of these.
ROOT_KINDS = (
    "pods,services,configmaps,secrets,serviceaccounts,persistentvolumeclaims,"
    "deployments.apps,statefulsets.apps,daemonsets.apps,jobs.batch,cronjobs.batch,"
    "roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io"
)
# Every namespace gets them from Kubernetes itself.
_EVERYWHERE = ("configmap/kube-root-ca.crt", "serviceaccount/default")
_TOKENS = "secret/default-token-"


def strangers(names: Iterable[str], namespace: str, ours: set[Key]) -> tuple[str, ...]:
    """``names`` as ``kubectl get -o name`` prints them: ``deployment.apps/name``."""
    known = {(kind.lower(), name) for _, kind, space, name in ours if space == namespace}
    makers = tuple(f"{name}-" for _, name in known)
    found = []
    for line in names:
        resource, _, name = line.partition("/")
        kind = resource.partition(".")[0]
        made = kind in ("pod", "job", "secret") and name.startswith(makers) if makers else False
        default = line in _EVERYWHERE or line.startswith(_TOKENS)
        if (kind, name) not in known and not made and not default:
            found.append(line)
    return tuple(found)
