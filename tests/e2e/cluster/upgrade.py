"""`kubeadm upgrade` on the rig's nodes: the control plane of another minor, the kubelets stay."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from .build import UPGRADED, build_upgrade
from .console import run, say
from .images import command_image, write_archive
from .node import Node
from .versions import KubernetesVersion

KUBEADM = "/usr/local/bin/kubeadm-next"
_ARCHIVE = "/opt/rig-next.tar"
# The rig has its own kube-proxy, its own etcd, and coredns of one release only.
_CONTROL_PLANE_ONLY = "--etcd-upgrade=false --ignore-preflight-errors=all --skip-phases=addon"


def bring(nodes: list[Node], version: KubernetesVersion) -> None:
    """The next minor's kubeadm and images, as a package manager and a registry would."""
    binaries = build_upgrade(version)
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "images.tar"
        tag = f"v{version.release}"
        write_archive(
            archive,
            [(f"registry.k8s.io/{name}:{tag}", command_image(binaries[name])) for name in UPGRADED],
        )
        for node in nodes:
            say(f"{node.name}: bringing {tag}")
            shutil.copy(archive, node.tree / _ARCHIVE.lstrip("/"))
            shutil.copy(binaries["kubeadm"], node.tree / KUBEADM.lstrip("/"))
            node.run(f"chmod 755 {KUBEADM}; ctr -n k8s.io images import {_ARCHIVE}", timeout=180)
            node.run(f"rm {_ARCHIVE}")
            _rename(node, binaries["kubeadm"], tag)


def _rename(node: Node, kubeadm: Path, tag: str) -> None:
    """etcd, coredns and pause are the rig's own: a join asks for them by new names."""
    wanted = run([str(kubeadm), "config", "images", "list", f"--kubernetes-version={tag}"])
    there = node.output("ctr -n k8s.io images list -q").split()
    for name in wanted.stdout.decode().split():
        same = next((one for one in there if one.startswith(name.rpartition(":")[0] + ":")), None)
        if same is not None and name not in there:
            node.run(f"ctr -n k8s.io images tag {same} {name}")


def upgrade(node: Node, version: KubernetesVersion, *, first: bool, patches: str = "") -> None:
    say(f"{node.name}: kubeadm upgrade to {version.release}")
    how = f"apply v{version.release} --yes" if first else "node"
    given = f"--patches {patches}" if patches else ""
    node.run(f"{KUBEADM} upgrade {how} {_CONTROL_PLANE_ONLY} {given}", timeout=420)
