"""apply: a plan for all nodes, carried out."""

from __future__ import annotations

import secrets
import time

from kschedpatch.core.fleet.runids import new_run_id
from kschedpatch.model.fleetplan import FleetPlan, NodePlan
from kschedpatch.model.rollout import NodeOutcome, NodeResult, RolloutResult, RolloutSettings
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.run import Run
from kschedpatch.rollout.turn import Change


def roll_out(
    fleet: Fleet,
    plan: FleetPlan,
    settings: RolloutSettings,
    cancel: Cancel,
    *,
    probed_scheduler: str | None = "default-scheduler",
) -> RolloutResult:
    run = new_run_id(time.time(), secrets.randbits(16))
    api = any(facts.api_answers for facts in fleet.facts)
    hostnames = {facts.label: facts.hostname for facts in fleet.facts}
    changes = [
        _change(plan, node, api=api)._replace(hostname=hostnames.get(node.label, ""))
        for node in plan.nodes
        if node.changed
    ]
    execution = Run(
        run,
        "apply",
        fleet,
        changes,
        settings,
        cancel,
        objects=plan.rbac,
        probed_scheduler=probed_scheduler if api else None,
    )
    with cancel.by_signals():
        result = execution.execute()
    untouched = tuple(
        NodeResult(node.label, node.node_name, NodeOutcome.UNCHANGED)
        for node in plan.nodes
        if not node.changed
    )
    notes = result.notes if api else (*result.notes, "no API server answered: nothing was probed")
    return result._replace(nodes=(*result.nodes, *untouched), notes=notes)


def _change(plan: FleetPlan, node: NodePlan, *, api: bool) -> Change:
    return Change(
        label=node.label,
        node_name=node.node_name,
        machine_id=node.machine_id,
        before_sha256=node.before_sha256,
        after=node.after,
        after_sha256=node.after_sha256,
        generation=node.generation,
        health=node.health,
        health_before=node.health_before,
        preflight=node.preflight,
        image_before=node.image_before,
        leads=node.leads,
        patch_name=plan.patch_name,
        patch_text=plan.patch_text,
        canary=node.canary,
        no_canary=node.no_canary,
        lease=node.lease if api else "",
    )
