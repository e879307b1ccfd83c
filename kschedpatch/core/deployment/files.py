"""Configuration and files of a patch as a ConfigMap that never changes: its name is its content's
hash, so that another configuration is another pod template, and rolls out by itself."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from kschedpatch.core.manifest import edits
from kschedpatch.core.rbac.objects import labels_for
from kschedpatch.core.staging import Staged
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.plan import ClusterObject, Generation

TARGET_LABEL = "kschedpatch.io/target"
#: The API server's bound is 1 MiB for the whole object.
MOST_BYTES = 900 * 1024
_DEFAULT_MODE = 0o644


def config_map(
    target: DeploymentTarget, patch_name: str, stem: str, generation: Generation
) -> ClusterObject:
    """``stem`` is what people call it; the hash comes behind."""
    text: dict[str, str] = {}
    binary: dict[str, str] = {}
    for staged in generation.files:
        content = staged.file.content or b""
        try:
            text[staged.name] = content.decode("utf-8")
        except UnicodeDecodeError:
            binary[staged.name] = base64.b64encode(content).decode()
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{stem}-{generation.id[:10]}",
            "namespace": target.namespace,
            "labels": {**labels_for(patch_name), TARGET_LABEL: target.name},
        },
        "immutable": True,
    }
    body |= {"data": text} if text else {}
    body |= {"binaryData": binary} if binary else {}
    return ClusterObject(body, "config")


def mount_files(pod: dict[str, Any], index: int, staged: Iterable[Staged], name: str) -> list[str]:
    """Each file at its place, by a subPath: such a mount is never refreshed, and need not be.
    Returns the names of volumes that are there for something else."""
    taken = []
    for item in staged:
        entry: dict[str, Any] = {"key": item.file.name, "path": item.file.name}
        if item.file.mode != _DEFAULT_MODE:
            entry["mode"] = item.file.mode
        source = {"configMap": {"name": name, "items": [entry]}}
        mount = {"mountPath": item.mount_path, "readOnly": True, "subPath": item.file.name}
        try:
            edits.put_volume(pod, index, item.volume, source, mount)
        except edits.VolumeInUse as error:
            taken.append(error.name)
    return taken
