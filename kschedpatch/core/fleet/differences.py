"""A plan that was made earlier, and the nodes as they are now."""

from __future__ import annotations

from kschedpatch.core.fleet.bringing import supply_of
from kschedpatch.core.fleet.clusterrules import (
    cluster_findings,
    in_rollout_order,
    leads,
    lease_holders,
)
from kschedpatch.core.fleet.merging import merged
from kschedpatch.core.fleet.noderules import about, node_findings, planned_findings
from kschedpatch.model.codes import found
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding, in_reading_order
from kschedpatch.model.fleetplan import FleetPlan, NodePlan

_OTHER_NODES = "name the same nodes, or plan again"


def differences(plan: FleetPlan, facts: tuple[NodeFacts, ...]) -> tuple[Finding, ...]:
    """What is no longer as it was when the plan was made. Who leads may change freely."""
    by_node = {}
    others = []
    there = {node.label: node for node in facts}
    for planned in plan.nodes:
        node = there.pop(planned.label, None)
        if node is None:
            message = f"the plan is also for {planned.label}"
            others.append(found("N304", message, hint=_OTHER_NODES))
            continue
        by_node[node.label] = [
            about(node, "N302", told, "plan again", path)
            for told, path in _differing(planned, node)
        ]
    others += [found("N304", f"the plan is not for {label}", hint=_OTHER_NODES) for label in there]
    return (*merged(by_node), *others)


def renewed(plan: FleetPlan, facts: tuple[NodeFacts, ...], *, partial: bool) -> FleetPlan:
    """The plan as it can be carried out now: in today's order, with today's findings."""
    holders = lease_holders(facts)
    by_label = {node.label: node for node in plan.nodes}
    ordered = [node for node in in_rollout_order(facts) if node.label in by_label]
    nodes = [_today(by_label[node.label], node, leads=leads(node, holders)) for node in ordered]
    about_nodes = {
        node.label: [*node_findings(node), *planned_findings(node, planned)]
        for node, planned in zip(ordered, nodes, strict=True)
    }
    findings = (
        *differences(plan, facts),
        *merged(about_nodes),
        *cluster_findings(facts, partial=partial, needs_api=bool(plan.rbac or plan.objects)),
        *(finding for finding in plan.findings if not finding.code.startswith("N")),
    )
    missing = [node for node in plan.nodes if node.label not in {item.label for item in ordered}]
    return plan._replace(nodes=(*missing, *nodes), findings=in_reading_order(findings))


def _today(planned: NodePlan, node: NodeFacts, *, leads: bool) -> NodePlan:
    supply = supply_of(node, planned.preflight.image, planned.archive)
    return planned._replace(leads=leads, node_name=node.node_name, supply=supply)


def _differing(planned: NodePlan, node: NodeFacts) -> list[tuple[str, str]]:
    file = node.manifest
    if node.machine_id != planned.machine_id:
        return [("it is another machine than the one that was planned for", "")]
    if file is None:
        return [("the manifest is gone", planned.manifest_path)]
    told = []
    if file.path != planned.manifest_path:
        told.append((f"the manifest was at {planned.manifest_path}", file.path))
    if file.sha256 != planned.before_sha256:
        told.append(("the manifest has changed", file.path))
    if node.kubelet != planned.kubelet:
        told.append((f"the kubelet was {planned.kubelet}, and is {node.kubelet}", ""))
    for path, kind in planned.path_types:
        now = node.path_types.get(path, kind)
        if now != kind:
            told.append((f"it was {kind}, and is {now}", path))
    return told
