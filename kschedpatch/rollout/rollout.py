"""apply: a plan for all nodes, carried out."""

from __future__ import annotations

import secrets
import time

from kschedpatch.core.fleet.runids import new_run_id
from kschedpatch.model.clusterplan import ClusterPlan
from kschedpatch.model.fleetplan import FleetPlan, NodePlan
from kschedpatch.model.persistplan import PersistPlan
from kschedpatch.model.rollout import NodeOutcome, NodeResult, RolloutResult, RolloutSettings
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.change import Change
from kschedpatch.rollout.clusterlook import plan_for_apply
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.podprobe import pod_probe_of
from kschedpatch.rollout.run import Run


def roll_out(
    fleet: Fleet,
    plan: FleetPlan,
    settings: RolloutSettings,
    cancel: Cancel,
    *,
    cluster: ClusterPlan | None = None,
    persist: PersistPlan | None = None,
    probed_scheduler: str | None = "default-scheduler",
) -> RolloutResult:
    """``cluster`` is what becomes of objects; without it, that is looked at here."""
    cluster = plan_for_apply(fleet, plan) if cluster is None else cluster
    run = new_run_id(time.time(), secrets.randbits(16))
    api = any(facts.api_answers for facts in fleet.facts)
    hostnames = {facts.label: facts.hostname for facts in fleet.facts}
    # Where only objects change, every node keeps what is done to them.
    taking_part = [node for node in plan.nodes if node.changed]
    if not taking_part and (cluster.changed or (persist is not None and persist.changed)):
        taking_part = list(plan.nodes)
    changes = [
        _change(plan, node, api=api)._replace(hostname=hostnames.get(node.label, ""))
        for node in taking_part
    ]
    execution = Run(
        run,
        "apply",
        fleet,
        changes,
        settings,
        cancel,
        cluster=cluster if changes else None,
        probed_scheduler=probed_scheduler if api else None,
        pods=pod_probe_of(plan) if settings.probe_pods else None,
        persist=persist,
    )
    with cancel.by_signals():
        result = execution.execute()
    untouched = tuple(
        NodeResult(node.label, node.node_name, NodeOutcome.UNCHANGED)
        for node in plan.nodes
        if node not in taking_part
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
        preflight=node.preflight if node.changed else None,
        image_before=node.image_before,
        leads=node.leads,
        patch_name=plan.patch_name,
        patch_text=plan.patch_text,
        canary=node.canary,
        no_canary=node.no_canary,
        lease=node.lease if api else "",
        archive=node.archive,
        base=node.base if node.base_is_derived else "",
    )
