"""What does not fit a patch's target, by the patch file alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.finding import Finding

#: What has to be put on a node, and why that is in vain for a Deployment.
_ON_NODES = {
    "binary": "a binary is staged on nodes; build an image with it",
    "imageArchive": "an archive is imported on control-plane nodes; push the image to a registry",
}
STOCK = "kube-system/kube-scheduler"


def target_findings(
    target: dict[str, Any], scheduler: dict[str, Any], places: Places
) -> Iterator[Finding]:
    """On the raw values, so that it is told beside wrong keys and types."""
    new = target.get("newDeployment")
    is_deployment = new is not None or target.get("deployment") is not None
    for key, hint in _ON_NODES.items():
        if is_deployment and scheduler.get(key) is not None:
            message = f"{key} does not go with a Deployment, whose pods run on any node"
            yield places.at("P014", ("spec", "scheduler", key), message, hint)
    if scheduler.get("replicas") is not None and new is None:
        message = "replicas are for a second scheduler (target.newDeployment)"
        yield places.at("P014", ("spec", "scheduler", "replicas"), message)
    if new == STOCK:
        message = f"{STOCK} is the name of the stock scheduler's pods"
        hint = f"newDeployment: {STOCK}-NAME"
        yield places.at("P015", ("spec", "target", "newDeployment"), message, hint)
