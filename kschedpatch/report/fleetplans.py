"""A plan for all nodes: for people, the diffs and what will happen; for programs, all of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from kschedpatch.core.objects.marks import shown
from kschedpatch.model.clusterplan import ACTS, ClusterPlan
from kschedpatch.model.fleetplan import FleetPlan, NodePlan
from kschedpatch.model.images import ImageArchive, Supply
from kschedpatch.model.persistplan import PersistPlan
from kschedpatch.model.rollout import RollbackTarget
from kschedpatch.report.objects import change_lines, changes_data
from kschedpatch.report.persisting import persist_data, persist_lines
from kschedpatch.report.plans import file_data, file_lines, folded_diffs
from kschedpatch.report.terminal import Paint, printable

_NO_OBJECTS = ClusterPlan()
_NO_PERSIST = PersistPlan()


def fleet_plan_text(
    plan: FleetPlan,
    paint: Paint,
    cluster: ClusterPlan = _NO_OBJECTS,
    persist: PersistPlan = _NO_PERSIST,
) -> str:
    lines = [*_diffs(plan.nodes, paint), *_generations(plan.nodes, paint)]
    lines += change_lines(cluster, paint)
    lines += persist_lines(persist, paint)
    if (plan.changed or cluster.changed) and plan.ok:
        lines += ["", *what_happens(plan, cluster)]
    return "".join(line + "\n" for line in lines)


def rollback_text(
    targets: Sequence[RollbackTarget],
    paint: Paint,
    cluster: ClusterPlan = _NO_OBJECTS,
    persist: PersistPlan = _NO_PERSIST,
) -> str:
    lines = [
        f"{printable(target.label)}: takes back the open run {printable(target.run)}"
        for target in targets
        if target.ends_transaction
    ]
    plans = [t.plan for t in targets if t.plan is not None and not t.ends_transaction]
    lines += _diffs(plans, paint)
    lines += change_lines(cluster, paint)
    lines += persist_lines(persist, paint)
    return "".join(line + "\n" for line in lines)


def _diffs(nodes: Sequence[NodePlan], paint: Paint) -> Iterator[str]:
    return folded_diffs(((node.label, diff_of(node)) for node in nodes), "nothing to change", paint)


def diff_of(node: NodePlan) -> tuple[str, ...]:
    path = node.manifest_path
    before, after = node.before.splitlines(), node.after.splitlines()
    return tuple(
        difflib.unified_diff(before, after, path, f"{path} (patched)", lineterm="")
        if node.changed
        else ()
    )


def _generations(nodes: Sequence[NodePlan], paint: Paint) -> Iterator[str]:
    shown = {node.generation.id: node.generation for node in nodes if node.generation is not None}
    for generation in shown.values():
        for staged in generation.files:
            yield from file_lines(f"{generation.directory}/{staged.name}", staged, paint)


def what_happens(plan: FleetPlan, cluster: ClusterPlan) -> Iterator[str]:
    turns = [printable(node.label) for node in plan.nodes if node.changed]
    yield "What will happen:"
    yield from _images(plan)
    if turns:
        yield "  - on all nodes, nothing live being touched: files are staged, the scheduler is"
        yield "    tried once without a network"
    count = sum(change.action in ACTS for change in cluster.brought)
    if count:
        yield f"  - {_objects(count)} applied to the cluster, and waited for until ready"
    gone = sum(change.action in ACTS for change in cluster.removed)
    if not turns:
        if gone:
            yield f"  - {_objects(gone)} taken away, or put back as it was before"
        yield "  - no node is changed; each keeps what was done, so that rollback can undo it"
        return
    canaries = [node for node in plan.nodes if node.changed and node.canary is not None]
    if canaries:
        where = "" if len(canaries) == len(turns) else f" on {_labels(canaries)}"
        yield f"  - a canary{where}: the new scheduler beside the live one, a standby on its lease"
        yield f"    ({_leases(canaries)}); nothing live is touched until it is proven"
    leader = next((printable(n.label) for n in plan.nodes if n.leads and n.changed), "")
    one_by_one = ", ".join(turns)
    note = f" ({leader} leads now)" if leader and len(turns) > 1 else ""
    yield f"  - switched one at a time: {one_by_one}{note}"
    if len(canaries) == len(turns):
        yield "    the canary does the work meanwhile: mostly under a second without a leader;"
        yield "    old and new configuration share the lease for that time"
    elif len(plan.nodes) > 1:
        yield "    each about 3 s without its scheduler; another node's takes over within 2 s"
    else:
        yield "    no pod is scheduled for about 3 s, running pods are not affected"
    if gone:
        yield f"  - {_objects(gone)} that the patch no longer has taken away, after the confirm"
    yield "  - confirmed together at the end; if anything fails, or this program dies,"
    yield "    every node goes back to what it runs now"


def _images(plan: FleetPlan) -> Iterator[str]:
    changed = [node for node in plan.nodes if node.changed]
    pulled: dict[str, list[NodePlan]] = {}
    for node in changed:
        if node.supply is Supply.PULL:
            pulled.setdefault(node.preflight.image, []).append(node)
    for image, nodes in pulled.items():
        yield f"  - {printable(image)} is pulled"
        yield f"    on {_labels(nodes)}, through the node's runtime"
    archives: dict[ImageArchive, list[NodePlan]] = {}
    for node in changed:
        if node.archive is not None and node.supply is Supply.ARCHIVE:
            archives.setdefault(node.archive, []).append(node)
    for archive, nodes in archives.items():
        size = f"{archive.file.size / (1 << 20):.1f} MiB"
        yield f"  - {printable(archive.image)} is uploaded to {_labels(nodes)} ({size} each), and"
        yield f"    imported there; its ID must be {archive.variants[0].image_id[:19]}…"


def _objects(count: int) -> str:
    return f"{count} object{'s' if count > 1 else ''}"


def _labels(nodes: Sequence[NodePlan]) -> str:
    return printable(", ".join(node.label for node in nodes))


def _leases(nodes: Sequence[NodePlan]) -> str:
    return printable(", ".join(dict.fromkeys(node.lease for node in nodes)))


def fleet_plan_data(
    plan: FleetPlan, cluster: ClusterPlan = _NO_OBJECTS, persist: PersistPlan = _NO_PERSIST
) -> dict[str, Any]:
    generations = {n.generation.id: n.generation for n in plan.nodes if n.generation is not None}
    return {
        "patch": plan.patch_name,
        "nodes": [node_data(node) for node in plan.nodes],
        "generations": [
            {
                "id": generation.id,
                "directory": generation.directory,
                "files": [file_data(staged) for staged in generation.files],
            }
            for generation in generations.values()
        ],
        "rbac": [shown(item.body) for item in plan.rbac],
        "objects": [shown(item.body) for item in plan.objects],
        "objectChanges": changes_data(cluster),
        "persist": persist_data(persist),
    }


def node_data(node: NodePlan) -> dict[str, Any]:
    return {
        "node": node.label,
        "name": node.node_name,
        "changed": node.changed,
        "leads": node.leads,
        "kubelet": str(node.kubelet) if node.kubelet else None,
        "path": node.manifest_path,
        "diff": "".join(f"{printable(line)}\n" for line in diff_of(node)),
        "beforeSha256": node.before_sha256,
        "afterSha256": node.after_sha256,
        "generation": node.generation.id if node.generation else None,
        "image": _image_data(node),
        "canary": node.canary is not None,
        "noCanary": node.no_canary or None,
    }


def _image_data(node: NodePlan) -> dict[str, Any]:
    archive = node.archive
    return {
        "name": node.preflight.image,
        "supply": str(node.supply),
        "archive": None
        if archive is None
        else {
            "file": archive.file.location,
            "sha256": archive.file.sha256,
            "size": archive.file.size,
            "imageId": archive.variants[0].image_id if archive.variants else None,
        },
    }


def rollback_data(
    targets: Sequence[RollbackTarget], cluster: ClusterPlan, persist: PersistPlan
) -> dict[str, Any]:
    return {
        "nodes": [_target_data(target) for target in targets],
        "objectChanges": changes_data(cluster),
        "persist": persist_data(persist),
    }


def _target_data(target: RollbackTarget) -> dict[str, Any]:
    return {
        "node": target.label,
        "run": target.run,
        "endsTransaction": target.ends_transaction,
        "unPatched": target.un_patched,
        "diff": node_data(target.plan)["diff"] if target.plan is not None else None,
    }
