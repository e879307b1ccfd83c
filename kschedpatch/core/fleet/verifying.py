"""verify: is every node as its last run left it, or as a patch asks, and does it work?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kschedpatch.core.fleet.merging import merged
from kschedpatch.core.fleet.noderules import about, deadline_told, transaction_told
from kschedpatch.core.fleet.standing import (
    Drift,
    changes_told,
    drift_of,
    last_confirmed,
    patched_how,
)
from kschedpatch.model.codes import found
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding, in_reading_order
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.revision import Revision


def verify_fleet(
    facts: Sequence[NodeFacts],
    kept: Mapping[str, bytes],
    plan: FleetPlan | None = None,
) -> tuple[Finding, ...]:
    """``kept`` is what each node's last confirmed run left, by label. With a plan, the nodes are
    compared with it instead, byte for byte."""
    by_node = {
        node.label: [*verify_node(node, last_confirmed(node), kept.get(node.label), plan)]
        for node in facts
    }
    findings = [*merged(by_node), *cluster_state(facts)]
    if plan is not None:
        findings += plan.findings
    return in_reading_order(findings)


def verify_node(
    node: NodeFacts,
    revision: Revision | None,
    kept: bytes | None = None,
    plan: FleetPlan | None = None,
) -> Iterator[Finding]:
    path = node.manifest.path if node.manifest is not None else node.manifests_directory
    if plan is not None:
        yield from _against_plan(node, plan, path)
    else:
        yield from _against_history(node, revision, kept, path)
    if node.transaction is not None:
        hint = f"wait, or kschedpatch rollback {node.label}"
        yield about(node, "N106", transaction_told(node.transaction), hint)
        if not node.transaction.dead_man:
            yield about(node, "N112", deadline_told(node.transaction), hint)
    if node.generation_problem:
        hint = f"kschedpatch apply on {node.label} again stages them anew"
        yield about(node, "N103", node.generation_problem, hint)
    yield from _working(node)
    newest = next((item for item in node.revisions if item.kind), None)
    if newest is not None and newest.outcome in {"failed", "foreign"}:
        yield about(node, "N111", f"run {newest.run} ended as {newest.outcome}")


def _against_history(
    node: NodeFacts, revision: Revision | None, kept: bytes | None, path: str
) -> Iterator[Finding]:
    drift = drift_of(node)
    if drift is Drift.NO_MANIFEST:
        hint = f"kschedpatch rollback {node.label}" if node.leftovers else ""
        yield about(node, "N102", "there is no manifest", hint, path)
    elif revision is None and drift is Drift.EDITED:
        yield about(node, "N102", "it is patched by no run that the node keeps", path=path)
    elif revision is None:
        yield about(node, "N109", "no run of kschedpatch is kept here", path=path)
    elif drift is Drift.WIPED:
        message = (
            f"the patch {revision.patch or revision.run} is gone: kubeadm, or somebody, has "
            "written the manifest anew"
        )
        yield about(node, "N101", message, "kschedpatch apply brings it back", path)
    elif drift is Drift.EDITED:
        message = f"it is not as run {revision.run} left it"
        if kept is not None and node.manifest is not None:
            now = node.manifest.content.decode("utf-8", "replace")
            message += f": {changes_told(kept.decode('utf-8', 'replace'), now)}"
        hint = "kschedpatch apply or rollback puts it in order"
        yield about(node, "N102", message, hint, path)


def _against_plan(node: NodeFacts, plan: FleetPlan, path: str) -> Iterator[Finding]:
    wanted = next((item for item in plan.nodes if item.label == node.label), None)
    if wanted is not None and wanted.changed:
        message = changes_told(wanted.before, wanted.after)
        yield about(node, "N108", message, "kschedpatch apply makes it so", path)


def _working(node: NodeFacts) -> Iterator[Finding]:
    if node.live is None:
        yield about(node, "N104", "no scheduler runs here")
    elif not node.live.ready:
        message = f"it runs and is not ready (restarts: {node.live.restarts})"
        yield about(node, "N104", message)
    elif node.live.restarts:
        yield about(node, "N105", f"restarts: {node.live.restarts}")


def cluster_state(facts: Sequence[NodeFacts]) -> Iterator[Finding]:
    """What the nodes show only together: a mixed cluster, nobody who leads."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for node in facts:
        if node.manifest is not None:
            kinds.setdefault(patched_how(node), []).append(node.label)
    if len(kinds) > 1:
        told = "; ".join(f"{', '.join(labels)}: {_kind_told(how)}" for how, labels in kinds.items())
        labels = " ".join(node.label for node in facts)
        hint = f"kschedpatch apply -f PATCH {labels}, or kschedpatch rollback {labels}"
        yield found("N107", told, hint=hint)
    if any(node.api_answers for node in facts) and not any(node.lease_holder for node in facts):
        yield found("N110", "the lease kube-system/kube-scheduler has no holder")


def _kind_told(how: tuple[str, ...]) -> str:
    if not how:
        return "un-patched"
    patch, generation = how[:2]
    return f"patch {patch}, generation {generation}" if generation else f"patch {patch}"
