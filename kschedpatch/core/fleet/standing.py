"""How a node stands: which run left its manifest, and whether it is still as that run left it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff
from enum import StrEnum
from typing import NamedTuple

from kschedpatch.core.fleet.clusterrules import leads, lease_holders
from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.core.fleet.serving import image_of
from kschedpatch.core.kubeadm.unpatching import is_kept_by_kubeadm
from kschedpatch.core.manifest.document import (
    BASE_ANNOTATION,
    GENERATION_ANNOTATION,
    PATCH_ANNOTATION,
)
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.revision import OpenTransaction, Revision

CONFIRMED = "confirmed"
_SHOWN = 4


class Drift(StrEnum):
    AS_LEFT = "as left"
    UNPATCHED = "un-patched"
    WIPED = "wiped"
    EDITED = "edited"
    KEPT = "kept by kubeadm"
    """kubeadm has rendered the manifest anew, with a persisted patch in it."""
    OPEN = "run is open"
    NO_MANIFEST = "no manifest"
    NOT_REACHED = "not reached"


_DRIFTED = {Drift.EDITED: "edited by hand", Drift.WIPED: "wiped by kubeadm"}
DIFFERS = "other revision than its peers"


class NodeStatus(NamedTuple):
    label: str
    node_name: str = ""
    leads: bool = False
    kubelet: str = ""
    image: str = ""
    patch: str = ""
    run: str = ""
    """The confirmed run that left what stands there; empty where there is none."""
    drift: Drift = Drift.NOT_REACHED
    differs: bool = False
    """By itself it is as it was left, and most of its peers run something else."""
    ready: bool = False
    restarts: int | None = None
    transaction: OpenTransaction | None = None
    generation_problem: str = ""
    since: int | None = None
    """Since when it stands like this, in seconds since 1970 by the node's clock: the time of the
    run that left it, or of whatever has written the manifest since."""
    age: int | None = None

    @property
    def drift_told(self) -> str:
        if self.drift not in (Drift.AS_LEFT, Drift.UNPATCHED):
            return _DRIFTED.get(self.drift, str(self.drift))
        if self.generation_problem:
            return "files changed"
        return DIFFERS if self.differs else "none"


def statuses(facts: Iterable[NodeFacts], unreached: Iterable[str] = ()) -> tuple[NodeStatus, ...]:
    """Of the nodes that answered, and behind them of those that did not."""
    nodes = tuple(facts)
    holders, others = lease_holders(nodes), differing(nodes)
    told = [
        _status(node, leads=leads(node, holders), differs=node.label in others) for node in nodes
    ]
    return (*told, *(NodeStatus(label) for label in unreached))


def differing(facts: Iterable[NodeFacts]) -> frozenset[str]:
    """The nodes that are as they were left, and not as most of their peers are. Where no kind has
    more nodes than any other, nobody can say which is the right one: all differ."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for node in facts:
        if drift_of(node) in (Drift.AS_LEFT, Drift.UNPATCHED):
            kinds.setdefault(patched_how(node), []).append(node.label)
    sizes = sorted((len(labels) for labels in kinds.values()), reverse=True)
    if len(sizes) < 2:
        return frozenset()
    most = sizes[0] if sizes[0] > sizes[1] else 0
    return frozenset(label for labels in kinds.values() if len(labels) != most for label in labels)


def _status(node: NodeFacts, *, leads: bool, differs: bool) -> NodeStatus:
    manifest = manifest_of(node)
    last = last_confirmed(node)
    drift = drift_of(node)
    patch = str(manifest.annotations.get(PATCH_ANNOTATION, "")) if manifest else ""
    since = _since(node, drift, last)
    return NodeStatus(
        label=node.label,
        node_name=node.node_name,
        leads=leads,
        kubelet=str(node.kubelet) if node.kubelet else "",
        image=image_of(manifest) if manifest else "",
        patch=patch,
        run=last.run if last is not None and drift is Drift.AS_LEFT else "",
        drift=drift,
        differs=differs,
        ready=node.live is not None and node.live.ready,
        restarts=node.live.restarts if node.live is not None else None,
        transaction=node.transaction,
        generation_problem=node.generation_problem,
        since=since,
        age=max(0, node.clock - since) if since is not None and node.clock else None,
    )


def _since(node: NodeFacts, drift: Drift, last: Revision | None) -> int | None:
    when = node.manifest_changed
    if node.transaction is not None:
        when = node.transaction.since
    elif last is not None and drift is Drift.AS_LEFT:
        when = last.when
    elif node.manifest is None:
        when = 0
    return when or None


def last_confirmed(node: NodeFacts) -> Revision | None:
    return next((item for item in node.revisions if item.outcome == CONFIRMED and item.kind), None)


def patched_by(node: NodeFacts) -> Revision | None:
    """The run whose patch the node should follow: the one that made what the last confirmed run
    left, be that a rollback to an earlier patch; None where it left an un-patched manifest."""
    last = last_confirmed(node)
    if last is None:
        return None
    made = (
        item
        for item in node.revisions
        if item.kind == "apply" and item.outcome == CONFIRMED and item.after == last.after
    )
    return next(made, None)


def drift_of(node: NodeFacts) -> Drift:
    if node.transaction is not None:
        return Drift.OPEN
    if node.manifest is None:
        return Drift.NO_MANIFEST
    last = last_confirmed(node)
    if last is not None and node.manifest.sha256 == last.after:
        return Drift.AS_LEFT
    manifest = manifest_of(node)
    patched = manifest is not None and manifest.is_patched
    if patched or manifest is None:
        return Drift.EDITED
    if is_kept_by_kubeadm(manifest):
        return Drift.KEPT
    return Drift.WIPED if last is not None and _left_patched(node, last) else Drift.UNPATCHED


def _left_patched(node: NodeFacts, last: Revision) -> bool:
    """A rollback may end on an earlier patch: whether it did, the runs that made it tell."""
    return any(item.kind == "apply" and item.after == last.after for item in node.revisions)


def changes(before: str, after: str) -> list[str]:
    """The lines that go (-) and come (+), the tool's own note of the base left out."""
    lines = unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [
        line
        for line in list(lines)[2:]
        if not line.startswith("@@") and BASE_ANNOTATION not in line
    ]


def changes_told(before: str, after: str) -> str:
    lines = [" ".join(line.split()) for line in changes(before, after)]
    rest = len(lines) - _SHOWN
    more = f" … and {rest} more lines" if rest > 0 else ""
    return " │ ".join(lines[:_SHOWN]) + more


def patched_how(node: NodeFacts) -> tuple[str, ...]:
    """What kschedpatch made of a node's manifest, comparable from node to node: kubeadm's own
    differences (addresses, versions) are in the base and do not count."""
    manifest = manifest_of(node)
    if manifest is None or not (manifest.is_patched or is_kept_by_kubeadm(manifest)):
        return ()
    notes = manifest.annotations
    named = (str(notes.get(PATCH_ANNOTATION, "")), str(notes.get(GENERATION_ANNOTATION, "")))
    if not manifest.is_patched:
        return named
    if node.base is None:
        return named
    return (*named, *changes(node.base.decode("utf-8", "replace"), manifest.text))
