"""In which order objects are applied: what others need comes first, otherwise as in the files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from kschedpatch.model.clusterplan import Ref

_RANKS = (
    ("Namespace",),
    ("CustomResourceDefinition",),
    ("PriorityClass", "RuntimeClass", "StorageClass", "ResourceQuota", "LimitRange"),
    ("ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"),
    ("ConfigMap", "Secret", "PersistentVolume", "PersistentVolumeClaim", "NetworkPolicy"),
    ("Service",),
    ("DaemonSet", "Deployment", "StatefulSet", "ReplicaSet", "Pod", "Job", "CronJob"),
)
_AT = {kind: rank for rank, kinds in enumerate(_RANKS) for kind in kinds}
_OTHERS = len(_RANKS)
# They stand in the way of what comes after them until their own pods serve.
_LAST = {"APIService": 1, "MutatingWebhookConfiguration": 2, "ValidatingWebhookConfiguration": 2}

T = TypeVar("T")


def rank(ref: Ref) -> int:
    if ref.kind in _LAST:
        return _OTHERS + _LAST[ref.kind]
    return _AT.get(ref.kind, _OTHERS)


def in_order(items: Iterable[tuple[Ref, T]]) -> list[T]:
    return [item for _, item in sorted(items, key=lambda pair: rank(pair[0]))]


def backwards(items: Iterable[tuple[Ref, T]]) -> list[T]:
    return in_order(items)[::-1]
