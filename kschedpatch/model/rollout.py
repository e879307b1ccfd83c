"""What a roll-out is told, and what it has to say in the end: values, rendered by the reports."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # the commands' flags are made of these values: --help stays fast
    from kschedpatch.model.clusterplan import ObjectResult
    from kschedpatch.model.events import Phase
    from kschedpatch.model.fleetplan import NodePlan


#: Of ``clusterplan.Action``, by value: that module is for later, too.
_ACTS = frozenset({"create", "change", "delete", "restore"})


class OnFailure(StrEnum):
    """What the first failure does to the nodes that this run has changed already."""

    ROLLBACK_ALL = "rollback-all"
    ROLLBACK_NODE = "rollback-node"
    STOP = "stop"


class RolloutSettings(NamedTuple):
    reason: str = ""
    who: str = ""
    on_failure: OnFailure = OnFailure.ROLLBACK_ALL
    settle: float = 5.0
    """Seconds without a restart before a scheduler counts as proven."""
    watch_timeout: float = 60.0
    """Seconds until a scheduler that is not ready, and shows no sign of why, has failed."""
    confirm_timeout: int = 90
    """Seconds without a sign of the operator after which a node restores by itself."""
    pull_timeout: float = 300.0
    """Seconds that the image may take, to be pulled or to be imported."""
    preflight: bool = True
    canary: bool = True
    probe: bool = True
    probe_pods: bool = False
    """The patch's own pods as well."""
    objects_timeout: float = 120.0
    """Seconds until objects that are not ready have failed."""


class NodeOutcome(StrEnum):
    CHANGED = "changed"
    """Switched, proven and confirmed."""
    UNCHANGED = "unchanged"
    """As it was before: nothing to do, or nothing was done."""
    RESTORED = "restored"
    """Was switched; the former manifest is back and its scheduler ready."""
    NOT_RESTORED = "not-restored"
    """Was switched, and nobody has seen the former scheduler ready again."""
    NOT_REACHED = "not-reached"
    """Nothing was done there, because nobody could get there."""
    LEFT_TO_NODE = "left-to-node"
    """Was switched, then lost: the dead man on the node restores it when his time comes."""
    UNPROVEN = "unproven"
    """On the new manifest, unconfirmed or failed, because ``--on-failure stop`` left it so."""


class FailureReason(StrEnum):
    CRASH = "crash"
    MOUNT = "mount"
    IMAGE = "image"
    REFUSED = "refused"
    """The kubelet does not take the manifest."""
    DENIED = "denied"
    """The kubelet's admission, or the API server, says no."""
    NOT_READY = "not-ready"
    LOST = "lost"
    """The connection to the node."""
    FOREIGN = "foreign"
    """Somebody else changed the manifest, or what it points to, in the meantime."""
    DISK = "disk"
    LOCKED = "locked"
    TOO_LATE = "too-late"
    """The node had restored itself before it could be confirmed."""
    PREFLIGHT = "preflight"
    ROOM = "room"
    """The node has not got what a canary, or the new pod, needs."""
    RBAC = "rbac"
    OBJECTS = "objects"
    PROBE = "probe"
    TOOL = "tool"
    """Something that the node half needs is missing on the node."""
    INTERRUPTED = "interrupted"
    OTHER = "other"


class NodeResult(NamedTuple):
    label: str
    node_name: str
    outcome: NodeOutcome
    seconds_to_proven: float | None = None
    """From the switch until the new scheduler was proven."""
    seconds_to_restored: float | None = None
    """From the failure until the old one was proven again."""
    detail: str = ""


class Failure(NamedTuple):
    node: str
    """The node's label; empty where it concerns the cluster."""
    phase: Phase
    reason: FailureReason
    detail: str = ""
    log: tuple[str, ...] = ()
    """The scheduler's last lines."""
    journal: tuple[str, ...] = ()
    """The kubelet's lines about it."""
    lines: tuple[str, ...] = ()
    """What is wrong with which objects, and why."""


class RolloutResult(NamedTuple):
    run: str
    kind: str
    """apply or rollback."""
    exit_code: int
    nodes: tuple[NodeResult, ...]
    failure: Failure | None = None
    leftovers: tuple[str, ...] = ()
    """Objects of the cluster that this run brought and that are still there."""
    notes: tuple[str, ...] = ()
    objects: tuple[ObjectResult, ...] = ()
    """What became of objects of the cluster; of a run that failed, what is not as before."""
    deployment: str = ""
    """``namespace/name`` where a Deployment was changed instead of nodes."""
    reach: str = ""
    """Flags by which the operator got there: the next command needs them too."""

    @property
    def changed(self) -> bool:
        return self.nodes_changed or self.objects_changed

    @property
    def nodes_changed(self) -> bool:
        return any(node.outcome is NodeOutcome.CHANGED for node in self.nodes)

    @property
    def objects_changed(self) -> bool:
        return any(item.action in _ACTS for item in self.objects)


class RollbackTarget(NamedTuple):
    """Where one node goes back to."""

    label: str
    run: str
    """The run that kept these bytes, ``original``, or the open run that is ended."""
    ends_transaction: bool
    """The node's open run is taken back; nothing else is decided."""
    un_patched: bool
    plan: NodePlan | None
    """From what stands there to the kept bytes; None only where an open run has left no trace
    of what stood there before (its own backup on the node knows)."""
    side: str = "before"
    """Where the cluster's objects go back to: before that run, or after it."""
