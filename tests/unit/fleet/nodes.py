"""Facts of nodes for tests: a healthy kubeadm control-plane node, and what is different this time.

``node("cp1").at("1.30.4").leading().facts``
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.core.fleet.serving import image_of
from kschedpatch.core.staging import CONFIG_NAME
from kschedpatch.model.facts import ControlPlaneNode, LivePod, ManifestFile, NodeFacts, Room
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.kubeversion import parse_version
from kschedpatch.model.revision import OpenTransaction, Revision

KUBEADM = Path(__file__).parents[3] / "fixtures" / "manifests" / "kubeadm"
DIRECTORY = "/etc/kubernetes/manifests"
PATH = f"{DIRECTORY}/kube-scheduler.yaml"
TOOLS = frozenset({"curl", "crictl", "ctr", "kubectl", "journalctl", "timeout"})


def kubeadm_manifest(minor: int) -> bytes:
    return (KUBEADM / f"v1.{minor}.yaml").read_bytes()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Node:
    def __init__(self, facts: NodeFacts) -> None:
        self.facts = facts

    def but(self, **fields: Any) -> Node:
        return Node(self.facts._replace(**fields))

    def at(self, version: str) -> Node:
        """Another Kubernetes version, with kubeadm's manifest of it."""
        parsed = parse_version(version)
        assert parsed is not None
        return self.but(kubelet=parsed).with_manifest(kubeadm_manifest(parsed.minor))

    def with_manifest(self, content: bytes) -> Node:
        file = ManifestFile(PATH, content, sha256(content), "600", "0:0")
        changed = self.but(manifest=file)
        manifest = manifest_of(changed.facts)
        images = {image_of(manifest): True} if manifest else {}
        return changed.but(images={**self.facts.images, **images})

    def without_manifest(self, problem: str = "missing") -> Node:
        return self.but(manifest=None, manifest_problem=problem)

    def beside(self, name: str, content: bytes) -> Node:
        path = f"{DIRECTORY}/{name}"
        other = ManifestFile(path, content, sha256(content))
        return self.but(others=(*self.facts.others, other))

    def leading(self) -> Node:
        return self.but(lease_holder=f"{self.facts.node_name}_0b9fe2a4")

    def following(self, leader: str) -> Node:
        return self.but(lease_holder=f"{leader}_0b9fe2a4")

    def in_cluster_of(self, *names: str) -> Node:
        members = tuple(ControlPlaneNode(name, (f"10.0.0.{at}",)) for at, name in enumerate(names))
        return self.but(control_plane=members)

    def with_paths(self, **types: str) -> Node:
        return self.but(path_types={path.replace("__", "/"): kind for path, kind in types.items()})

    def after(self, plan: FleetPlan, run: str = "20261116-204512-3fa9") -> Node:
        """As a confirmed run of the plan leaves it."""
        wanted = next(node for node in plan.nodes if node.label == self.facts.label)
        assert self.facts.manifest is not None
        revision = Revision(
            run,
            "apply",
            1_794_861_912,
            "ada",
            "a trial",
            plan.patch_name,
            wanted.before_sha256,
            wanted.after_sha256,
            "confirmed",
            wanted.generation.id if wanted.generation else "",
        )
        base = self.facts.base or self.facts.manifest.content
        original = self.facts.original or self.facts.manifest.content
        changed = self.with_manifest(wanted.after.encode())
        files = wanted.generation.files if wanted.generation else ()
        config = next((f.file.content for f in files if f.name == CONFIG_NAME), None)
        return changed.but(
            live_config=config,
            base=base,
            original=original,
            state_format=1,
            revisions=(revision, *self.facts.revisions),
        )

    def rolled_back_to(self, content: bytes, run: str) -> Node:
        assert self.facts.manifest is not None
        before, after = self.facts.manifest.sha256, sha256(content)
        revision = Revision(
            run, "rollback", 1_794_861_999, "ada", "", "", before, after, "confirmed"
        )
        return self.with_manifest(content).but(revisions=(revision, *self.facts.revisions))

    def open_run(self, **fields: Any) -> Node:
        open_one = OpenTransaction(
            "20261116-204512-3fa9", "apply", "ada", 1_794_861_912, "switched", 42, dead_man=True
        )
        return self.but(transaction=open_one._replace(**fields))


def node(label: str) -> Node:
    """A node of 1.34 that is well, in a cluster whose members nobody told."""
    version = parse_version("1.34.11")
    facts = NodeFacts(
        label=label,
        node_name=label,
        machine_id=f"{sum(label.encode()):032x}",
        hostname=label,
        kubelet=version,
        has_systemd=True,
        tools=TOOLS,
        runtime="containerd",
        manifests_directory=DIRECTORY,
        manifest_problem="",
        manifest=None,
        live=LivePod("0f4c", 4711, 0, ready=True),
        room=Room(10269, 6_000_000, 52_000),
        free_kib={DIRECTORY: 1 << 20, "/var/lib": 1 << 20},
        api_answers=True,
        lease_holder="elsewhere_1",
    )
    return Node(facts).with_manifest(kubeadm_manifest(34))


def three() -> list[Node]:
    """cp1, cp2, cp3; cp2 leads."""
    names = ("cp1", "cp2", "cp3")
    return [node(name).in_cluster_of(*names).following("cp2") for name in names]
