"""A plan for all nodes: for people, the diffs and what will happen; for programs, all of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from kschedpatch.model.fleetplan import FleetPlan, NodePlan
from kschedpatch.model.rollout import RollbackTarget
from kschedpatch.report.plans import coloured, file_data, file_lines, object_lines
from kschedpatch.report.terminal import Paint, printable


def fleet_plan_text(plan: FleetPlan, paint: Paint) -> str:
    lines = [*_diffs(plan.nodes, paint), *_generations(plan.nodes, paint)]
    for title, objects in (("RBAC", plan.rbac), ("object", plan.objects)):
        for item in objects:
            lines += object_lines(title, item, paint)
    if plan.changed and plan.ok:
        lines += ["", *what_happens(plan)]
    return "".join(line + "\n" for line in lines)


def rollback_text(targets: Sequence[RollbackTarget], paint: Paint) -> str:
    lines = [
        f"{printable(target.label)}: takes back the open run {printable(target.run)}"
        for target in targets
        if target.ends_transaction
    ]
    plans = [t.plan for t in targets if t.plan is not None and not t.ends_transaction]
    lines += _diffs(plans, paint)
    return "".join(line + "\n" for line in lines)


def _diffs(nodes: Sequence[NodePlan], paint: Paint) -> Iterator[str]:
    """The same diff on several nodes is shown once."""
    groups: dict[tuple[str, ...], list[NodePlan]] = {}
    for node in nodes:
        groups.setdefault(diff_of(node), []).append(node)
    first = True
    for lines, members in groups.items():
        if not first:
            yield ""
        first = False
        names = printable(", ".join(node.label for node in members))
        if not lines:
            yield f"{names}: nothing to change"
            continue
        yield paint("bold", f"{names}:")
        for line in lines:
            yield coloured(line, paint)


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


def what_happens(plan: FleetPlan) -> Iterator[str]:
    turns = [printable(node.label) for node in plan.nodes if node.changed]
    yield "What will happen:"
    yield "  - on all nodes, nothing live being touched: files are staged, the scheduler is"
    yield "    tried once without a network"
    count = len(plan.rbac) + len(plan.objects)
    if count:
        yield f"  - {count} object{'s' if count > 1 else ''} applied to the cluster"
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
    yield "  - confirmed together at the end; if anything fails, or this program dies, every"
    yield "    node goes back to what it runs now"


def _labels(nodes: Sequence[NodePlan]) -> str:
    return printable(", ".join(node.label for node in nodes))


def _leases(nodes: Sequence[NodePlan]) -> str:
    return printable(", ".join(dict.fromkeys(node.lease for node in nodes)))


def fleet_plan_data(plan: FleetPlan) -> dict[str, Any]:
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
        "rbac": [item.body for item in plan.rbac],
        "objects": [item.body for item in plan.objects],
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
        "canary": node.canary is not None,
        "noCanary": node.no_canary or None,
    }


def target_data(target: RollbackTarget) -> dict[str, Any]:
    return {
        "node": target.label,
        "run": target.run,
        "endsTransaction": target.ends_transaction,
        "unPatched": target.un_patched,
        "diff": node_data(target.plan)["diff"] if target.plan is not None else None,
    }
