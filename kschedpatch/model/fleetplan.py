"""A plan for all nodes of a cluster: what `plan` shows and `apply` carries out, byte for byte."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from kschedpatch.model.finding import Finding, has_errors
from kschedpatch.model.images import ImageArchive, Supply
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.plan import ClusterObject, Generation


class Health(NamedTuple):
    """Where the scheduler tells how it is, from its own flags and version."""

    host: str
    port: int
    path: str
    """/readyz from 1.31 on; /healthz before, which proves little."""
    proves_readiness: bool


class Preflight(NamedTuple):
    """One run of the scheduler with --write-config-to, in a container that reaches nothing."""

    image: str
    command: tuple[str, ...]
    """The program and its flags as in the manifest, without those that the run itself sets."""
    mounts: tuple[tuple[str, str], ...]
    """Host path and container path; read-only."""
    env: tuple[tuple[str, str], ...] = ()


#: Stand in a canary's manifest until it is started on a node.
RUN_MARK = "KSCHEDPATCH_CANARY_RUN"
PORT_MARK = "KSCHEDPATCH_CANARY_PORT"


class Canary(NamedTuple):
    """The planned scheduler as a second static pod: a standby on the live one's lease."""

    manifest: str
    """With marks where the run's id and the port go: the port is chosen on the node."""
    config: str
    """The configuration that it reads instead of the planned one; empty: the planned one."""
    health: Health
    """Its port is 0 here."""
    more_requests: tuple[tuple[str, str], ...] = ()
    """What the new pod asks of the node beyond the live one; the canary asks for nothing, so
    whether that is free must be seen in another way."""
    retry: float = 2.0
    """Seconds after which the new scheduler asks for the lease again, at the earliest; 2.2 times as
    long at the latest."""


class NodePlan(NamedTuple):
    label: str
    node_name: str
    machine_id: str
    manifest_path: str
    before: str
    after: str
    generation: Generation | None
    health: Health
    health_before: Health
    preflight: Preflight
    image_before: str
    leads: bool
    """Holds the lease: its turn comes last."""
    kubelet: KubeVersion | None = None
    canary: Canary | None = None
    no_canary: str = ""
    """Why there is none, where there is none."""
    lease: str = ""
    """``namespace/name`` of the live scheduler's lease; empty where it elects nobody, or nobody
    knows on what."""
    path_types: tuple[tuple[str, str], ...] = ()
    """What the node's paths were when it was planned; a later `apply --plan` compares."""
    archive: ImageArchive | None = None
    """What the patch brings the image in, with the variant for this node."""
    supply: Supply = Supply.UNKNOWN
    """How the image comes to the node, as it was when it was looked at."""
    always_pulls: bool = False
    """By its imagePullPolicy the kubelet asks the registry at every start."""
    base: str = ""
    """The manifest that the patch was applied to."""
    base_is_derived: bool = False
    """kubeadm had rendered a patch into the manifest: no disk has this base yet."""

    @property
    def changed(self) -> bool:
        return self.before != self.after

    @property
    def before_sha256(self) -> str:
        return hashlib.sha256(self.before.encode("utf-8", "surrogateescape")).hexdigest()

    @property
    def after_sha256(self) -> str:
        return hashlib.sha256(self.after.encode()).hexdigest()


class FleetPlan(NamedTuple):
    patch_name: str
    patch_text: str
    """The patch with everything filled in, as YAML: kept on the nodes, for `verify` and people."""
    nodes: tuple[NodePlan, ...]
    """In the order of the roll-out: standbys first, the holder of the lease last."""
    rbac: tuple[ClusterObject, ...]
    objects: tuple[ClusterObject, ...]
    findings: tuple[Finding, ...]
    persist: bool = False
    """kubeadm is to be given what its next rendering needs."""

    @property
    def ok(self) -> bool:
        return not has_errors(self.findings)

    @property
    def changed(self) -> bool:
        return any(node.changed for node in self.nodes)
