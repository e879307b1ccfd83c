"""The files of an export, as text."""

from __future__ import annotations

from kschedpatch.core.kubeadm.persisting import Persisted, persisted, writes_lists
from kschedpatch.core.manifest.document import read_manifest
from kschedpatch.core.yamltext import emit
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.plan import Generation

CLUSTER_FILE = "cluster-configuration.yaml"
PATCHES = "patches"
PATCH_FILE = f"{PATCHES}/kube-scheduler50-kschedpatch+strategic.yaml"
"""kubeadm reads target, suffix and kind of a patch from its name; the suffix gives the order."""
README = "README.md"


def export_files(
    base: str, after: str, patch_name: str, version: KubeVersion, generation: Generation | None
) -> dict[str, str]:
    """From two manifests that were read and judged before."""
    old = read_manifest(base.encode(), "the base").manifest
    new = read_manifest(after.encode(), "the result").manifest
    if old is None or new is None:
        raise ValueError("no manifest")
    listed = writes_lists(version.minor)
    kept = persisted(old.pod, new.pod, new.container_index, listed=listed)
    return bundle(kept, patch_name, version, generation)


def bundle(
    kept: Persisted, patch_name: str, version: KubeVersion, generation: Generation | None
) -> dict[str, str]:
    """Text by name, relative to the directory of the export."""
    files: dict[str, str] = {}
    if kept.scheduler:
        files[CLUSTER_FILE] = emit.document(kept.fragment)
    if kept.patch:
        files[PATCH_FILE] = emit.document(kept.patch)
    files[README] = _readme(kept, patch_name, version, generation)
    return files


def _readme(
    kept: Persisted, patch_name: str, version: KubeVersion, generation: Generation | None
) -> str:
    minor = f"1.{version.minor}"
    head = (
        f"# The patch {patch_name}, for kubeadm {minor}\n\n"
        "kubeadm renders the scheduler's manifest anew when it upgrades or joins a node. What is "
        "here makes it keep the change.\n"
    )
    parts = [head]
    if generation is not None:
        parts.append(
            "## Files that must be on the node before\n\n"
            f"`{generation.directory}/` on every control-plane node, also on one that joins. "
            "`kschedpatch apply` puts it there; copy it to a new node with its modes (`cp -a`).\n"
        )
    if kept.scheduler:
        parts.append(
            "## In the cluster, once\n\n"
            f"Add `scheduler` of `{CLUSTER_FILE}` to what is in the ConfigMap "
            "kube-system/kubeadm-config, under the key ClusterConfiguration: lists are added to, "
            "an entry of the same name is replaced.\n\n"
            "    kubectl -n kube-system edit configmap kubeadm-config\n\n"
            "kubeadm reads it at every upgrade and every join.\n"
        )
    if kept.patch:
        parts.append(
            "## On every node, every time\n\n"
            f"The rest is in `{PATCHES}/`. kubeadm does not remember it: copy the directory to "
            "each control-plane node, and name it at each upgrade and each join.\n\n"
            f"    kubeadm upgrade apply VERSION --patches {PATCHES}/\n"
            f"    kubeadm upgrade node --patches {PATCHES}/\n"
            f"    kubeadm join … --control-plane --patches {PATCHES}/\n"
        )
        image = _image(kept)
        if image:
            parts.append(
                f"It sets the image {image}: before an upgrade, build the scheduler for the new "
                "version and export the patch again with it.\n"
            )
    parts.append(
        "## Before an upgrade to another minor\n\n"
        "    kschedpatch lint -f PATCH --kubernetes-version NEXT\n\n"
        "says what the next version no longer takes. The files here are for "
        f"{minor}: export them again for the next.\n"
    )
    return "\n".join(parts)


def _image(kept: Persisted) -> str:
    containers = kept.patch.get("spec", {}).get("containers") or [{}]
    return str(containers[0].get("image", ""))
