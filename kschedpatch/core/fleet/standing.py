"""How a node stands: which run left its manifest, and whether it is still as that run left it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff
from enum import StrEnum
from typing import NamedTuple

from kschedpatch.core.fleet.clusterrules import leads, lease_holders
from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.core.fleet.serving import image_of
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
    OPEN = "run is open"
    NO_MANIFEST = "no manifest"


class NodeStatus(NamedTuple):
    label: str
    node_name: str
    leads: bool
    kubelet: str
    image: str
    patch: str
    run: str
    """The confirmed run that left what stands there; empty where there is none."""
    drift: Drift
    ready: bool
    restarts: int | None
    transaction: OpenTransaction | None
    generation_problem: str


def statuses(facts: Iterable[NodeFacts]) -> tuple[NodeStatus, ...]:
    nodes = tuple(facts)
    holders = lease_holders(nodes)
    return tuple(_status(node, leads=leads(node, holders)) for node in nodes)


def _status(node: NodeFacts, *, leads: bool) -> NodeStatus:
    manifest = manifest_of(node)
    last = last_confirmed(node)
    drift = drift_of(node)
    patch = str(manifest.annotations.get(PATCH_ANNOTATION, "")) if manifest else ""
    return NodeStatus(
        label=node.label,
        node_name=node.node_name,
        leads=leads,
        kubelet=str(node.kubelet) if node.kubelet else "",
        image=image_of(manifest) if manifest else "",
        patch=patch,
        run=last.run if last is not None and drift is Drift.AS_LEFT else "",
        drift=drift,
        ready=node.live is not None and node.live.ready,
        restarts=node.live.restarts if node.live is not None else None,
        transaction=node.transaction,
        generation_problem=node.generation_problem,
    )


def last_confirmed(node: NodeFacts) -> Revision | None:
    return next((item for item in node.revisions if item.outcome == CONFIRMED and item.kind), None)


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
    if manifest is None or not manifest.is_patched:
        return ()
    notes = manifest.annotations
    named = (str(notes.get(PATCH_ANNOTATION, "")), str(notes.get(GENERATION_ANNOTATION, "")))
    if node.base is None:
        return named
    return (*named, *changes(node.base.decode("utf-8", "replace"), manifest.text))
