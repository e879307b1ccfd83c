"""Whether everything of ours may go from the nodes: never what a scheduler still needs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kschedpatch.core.fleet.clusterrules import cluster_findings
from kschedpatch.core.fleet.merging import merged
from kschedpatch.core.fleet.noderules import STATE_FORMAT, about, transaction_told
from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.model.codes import found
from kschedpatch.model.facts import ManifestFile, NodeFacts
from kschedpatch.model.finding import Finding
from kschedpatch.model.revision import OpenTransaction

#: Where generations lie on a node, and where containers see them.
OWN_DIRECTORY = "/etc/kubernetes/kschedpatch"
#: A manifest that has one of these was made by a patch.
_MARKS = (b"kschedpatch.io/base", b"kschedpatch.io/patch", b"kschedpatch.io/generation")
_OF_CLUSTER = frozenset({"N004", "N005", "N006", "N027"})


class NodeTraces(NamedTuple):
    label: str
    paths: tuple[str, ...]
    runs: int
    """How many of them are kept, what stood there first not counted."""


def traces(facts: Sequence[NodeFacts]) -> tuple[NodeTraces, ...]:
    """Of the nodes that have any."""
    return tuple(
        NodeTraces(node.label, node.traces, sum(bool(r.kind) for r in node.revisions))
        for node in facts
        if node.traces
    )


def purge_findings(facts: Sequence[NodeFacts], *, partial: bool) -> tuple[Finding, ...]:
    by_node = {node.label: [*_node(node)] for node in facts}
    of_cluster = cluster_findings(facts, partial=partial, needs_api=False)
    return (*merged(by_node), *(f for f in of_cluster if f.code in _OF_CLUSTER))


def _node(node: NodeFacts) -> Iterator[Finding]:
    if node.manifest is None:
        message = "there is no manifest, and what is kept here may be all there is of it"
        hint = f"kschedpatch rollback {node.label}" if node.revisions else ""
        yield about(node, "N001", message, hint, node.manifests_directory)
    yield from _needed(node)
    if node.transaction is not None and not is_stale(node.transaction):
        hint = f"kschedpatch rollback {node.label}, or wait"
        yield about(node, "N008", transaction_told(node.transaction), hint)
    if node.state_format > STATE_FORMAT:
        message = f"its state has format {node.state_format}, this version knows {STATE_FORMAT}"
        yield about(node, "N009", message, "use the kschedpatch that was used there")
    if node.kubeadm_at_work:
        yield about(node, "N007", f"running now: {node.kubeadm_at_work}", "wait until it is done")


def _needed(node: NodeFacts) -> Iterator[Finding]:
    """Also where the marks were taken out by hand and the paths were not."""
    back = f"kschedpatch rollback --to original {node.label}"
    manifest = manifest_of(node)
    if node.manifest is not None and (
        (manifest is not None and manifest.is_patched) or _is_ours(node.manifest)
    ):
        message = "it is patched: the scheduler that runs by it needs what would go"
        yield about(node, "N401", message, back, node.manifest.path)
    for other in node.others:
        if _is_ours(other):
            message = "the kubelet reads it, and it is patched or names files of ours"
            yield about(node, "N401", message, "move it out of the directory", other.path)


def _is_ours(file: ManifestFile) -> bool:
    return any(mark in file.content for mark in (*_MARKS, OWN_DIRECTORY.encode()))


def is_stale(open_one: OpenTransaction) -> bool:
    """Nobody's any more: nothing is switched, nobody counts, its time is over. A lock takes such a
    one over, on the node by the same rule."""
    switched = open_one.state in ("moved", "switched", "restoring")
    return not switched and not open_one.dead_man and open_one.deadline_in <= 0


def kubeadm_finding(text: str, persisted: str = "") -> Iterator[Finding]:
    """``text`` is kubeadm's own configuration in the cluster, ``persisted`` the run that put
    something into it."""
    if persisted:
        message = (
            f"the ConfigMap kubeadm-config in kube-system holds what run {persisted} persisted"
        )
        yield found("N402", message, hint="kschedpatch rollback takes it out")
    elif OWN_DIRECTORY in text:
        message = f"the ConfigMap kubeadm-config in kube-system names {OWN_DIRECTORY}"
        hint = "take it out there first: the next kubeadm upgrade or join would write it anew"
        yield found("N402", message, hint=hint)
