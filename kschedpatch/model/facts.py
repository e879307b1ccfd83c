"""What one look at a node tells: values, as the node half reported them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.revision import OpenTransaction, Revision


class ManifestFile(NamedTuple):
    """The scheduler's manifest, or another file of its directory that speaks of the scheduler."""

    path: str
    content: bytes
    sha256: str
    mode: str = ""
    owner: str = ""
    """``uid:gid``."""


class LivePod(NamedTuple):
    """The static scheduler's container that runs now, read from /proc and its log directory."""

    uid: str
    """The kubelet's hash of the manifest (config.hash)."""
    pid: int
    restarts: int
    ready: bool


class Room(NamedTuple):
    """What there is for a second scheduler beside the live one."""

    free_port: int
    """0: none of the ports that are looked at is free."""
    available_kib: int
    """Memory, as the kernel estimates it."""
    live_kib: int
    """What the live scheduler takes of it; 0 where none runs."""


class ControlPlaneNode(NamedTuple):
    """A control-plane node as the API server knows it."""

    name: str
    addresses: tuple[str, ...]


class Hashes(StrEnum):
    """Of which generations a look compares the files with what was staged."""

    NONE = "none"
    CURRENT = ""
    ALL = "all"


class NodeFacts(NamedTuple):
    label: str
    """How the operator named the node."""
    node_name: str
    """The node's name in the cluster, from the scheduler's own pod where there is one."""
    machine_id: str
    hostname: str
    kubelet: KubeVersion | None
    has_systemd: bool
    tools: frozenset[str]
    """What of curl, wget, crictl, ctr, kubectl, journalctl, podman, docker … is there."""
    runtime: str
    """containerd, cri-o, docker or unknown."""
    manifests_directory: str
    """Resolved: where the kubelet really reads."""
    manifest_problem: str
    """Empty, or why the manifest can't be changed: missing, symlink, mount, unreadable."""
    manifest: ManifestFile | None
    others: tuple[ManifestFile, ...] = ()
    """Other files there that name kube-scheduler: one of them may define the same pod."""
    leftovers: tuple[str, ...] = ()
    """Dot files of ours in that directory."""
    base: bytes | None = None
    """The manifest that the current one was made from, if the node keeps it."""
    kept_after: bytes | None = None
    """What the last run has left here, where kubeadm has rendered the manifest anew with its patch
    in it; ``base`` is that one's then."""
    kubeadm_patch: bytes | None = None
    """What kubeadm is given here at its next rendering."""
    control_plane_version: KubeVersion | None = None
    """What kubeadm runs on this node; the kubelet may be older for a while."""
    original: bytes | None = None
    live: LivePod | None = None
    live_config: bytes | None = None
    """What the live scheduler's --config names, as its container sees it."""
    room: Room | None = None
    """None: the node did not say."""
    revisions: tuple[Revision, ...] = ()
    """Newest first."""
    transaction: OpenTransaction | None = None
    path_types: Mapping[str, str] = MappingProxyType({})
    """File, Directory, Socket, CharDevice, BlockDevice or Missing for each path asked about."""
    images: Mapping[str, bool] = MappingProxyType({})
    """For each image asked about: is it on the node? Not there at all where nothing can tell."""
    image_ids: Mapping[str, str] = MappingProxyType({})
    """What the runtime calls the ID of those that are there, ``sha256:…``, where it tells it."""
    machine: str = ""
    """The processor, as `uname -m` names it."""
    image_store: str = ""
    """The directory in which the runtime keeps images."""
    uploads: Mapping[str, int] = MappingProxyType({})
    """Archives of which a part has arrived: bytes by hash."""
    free_kib: Mapping[str, int] = MappingProxyType({})
    """Free space where the tool writes, by directory."""
    filesystems: Mapping[str, str] = MappingProxyType({})
    """The mount point that each of these directories lies on."""
    kubeadm_at_work: str = ""
    """The command line of a kubeadm that is changing this node right now."""
    generation_problem: str = ""
    """The files of the generation that the manifest names, if they are not as they were staged."""
    kept_generation_problems: Mapping[str, str] = MappingProxyType({})
    """The same of generations that only kept runs name, by their ids; where that was asked."""
    state_format: int = 0
    """Of /var/lib/kschedpatch; 0 where there is none."""
    traces: tuple[str, ...] = ()
    """Every path of ours on the node."""
    debris: tuple[str, ...] = ()
    """Of these, what a run has left that was killed; told only where none is open."""
    clock: int = 0
    """Seconds since 1970, by the node's clock: what it has written down is measured by it."""
    manifest_changed: int = 0
    """By the same clock, when the manifest was written last."""
    api_answers: bool = False
    lease_holder: str = ""
    control_plane: tuple[ControlPlaneNode, ...] = ()

    @property
    def leads(self) -> bool:
        holder, _, _ = self.lease_holder.rpartition("_")
        return bool(holder) and holder == self.node_name
