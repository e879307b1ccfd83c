"""What kubeadm itself makes of an export: the manifest that `apply` would write."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from kschedpatch.core.kubeadm.bundle import CLUSTER_FILE, PATCH_FILE
from kschedpatch.core.kubeadm.clusterconfig import with_scheduler
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from tests.recipenames import OF_STATIC_PODS
from tests.unit.kubeadm.rendering import meaning

from .cluster.cluster import Cluster
from .cluster.node import SCHEDULER_MANIFEST, Node
from .tool import kschedpatch

KUBEADM_CONFIG = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
HERE = "/root/kubeadm-export"


@pytest.mark.parametrize("name", OF_STATIC_PODS)
def test_kubeadm_renders_what_apply_writes(cluster: Cluster, tmp_path: Path, name: str) -> None:
    [node, *_] = cluster.nodes
    manifest = tmp_path / "kube-scheduler.yaml"
    manifest.write_bytes(node.read(SCHEDULER_MANIFEST))
    given = ("--recipe", name, "--manifest", str(manifest))
    exported = kschedpatch(cluster, "export", *given, "--out", str(tmp_path / "kubeadm"))
    assert exported.code == 0, exported.err
    rendered = kschedpatch(cluster, "render", *given, "-o", "json")
    wanted = value_of(read(json.loads(rendered.out)["manifest"].encode()).documents[0])

    kept = cluster.api.get(KUBEADM_CONFIG)["data"]["ClusterConfiguration"]
    fragment = value_of(read((tmp_path / "kubeadm" / CLUSTER_FILE).read_bytes()).documents[0])
    assert isinstance(fragment, dict)
    text = with_scheduler(kept, fragment["scheduler"])
    patch = tmp_path / "kubeadm" / PATCH_FILE
    made = kubeadm_renders(node, text, patch.read_bytes() if patch.exists() else b"")
    assert meaning(made) == meaning(wanted)


def kubeadm_renders(node: Node, configuration: str, patch: bytes) -> dict[str, object]:
    """`kubeadm init phase`, which leaves what it would write in a directory of its own."""
    node.run(f"rm -rf {HERE}; mkdir -p {HERE}/patches")
    # With a configuration file the patches' directory can't be a flag.
    version = value_of(read(configuration.encode()).documents[0])["apiVersion"]
    init = (
        f"apiVersion: {version}\nkind: InitConfiguration\n"
        f"localAPIEndpoint: {{advertiseAddress: {node.address}}}\n"
        f"patches: {{directory: {HERE}/patches}}\n"
    )
    node.run(f"cat > {HERE}/cluster.yaml", stdin=f"{configuration}---\n{init}".encode())
    if patch:
        name = shlex.quote(Path(PATCH_FILE).name)
        node.run(f"cat > {HERE}/patches/{name}", stdin=patch)
    try:
        node.run(
            "rm -rf /etc/kubernetes/tmp/kubeadm-init-dryrun*; "
            "kubeadm init phase control-plane scheduler --dry-run"
            f" --config {HERE}/cluster.yaml"
        )
        found = node.output("ls /etc/kubernetes/tmp/kubeadm-init-dryrun*/kube-scheduler.yaml")
        value = value_of(read(node.read(found.strip())).documents[0])
    finally:
        node.run(f"rm -rf {HERE} /etc/kubernetes/tmp/kubeadm-init-dryrun*")
    assert isinstance(value, dict)
    return value
