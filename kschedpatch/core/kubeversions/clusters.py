"""What else of a cluster differs by minor or image: whose scheduler it is, and its rights."""

from __future__ import annotations

from kschedpatch.model.kubeversion import KubeVersion

_OWN_REGISTRIES = ("registry.k8s.io/", "k8s.gcr.io/")


def image_is_stock(image: str) -> bool:
    """Kubernetes' own scheduler, for sure. From any other registry it may have any plugin."""
    name = image.split("@", 1)[0].rsplit("/", 1)[-1].partition(":")[0]
    return name == "kube-scheduler" and image.startswith(_OWN_REGISTRIES)


def lease_is_granted(minor: int, name: str, namespace: str) -> bool:
    """Whether the scheduler's own roles let it hold this lease (the rest we must grant)."""
    if name == "kube-scheduler":
        return True  # the ClusterRole names the lease in every namespace
    return minor >= 31 and namespace == "kube-system"


def needs_endpoints_right(version: KubeVersion) -> bool:
    """Up to 1.27 leader election may go through an Endpoints object of the lease's name."""
    return version.minor <= 27
