"""apply: a plan for all nodes, carried out."""

from __future__ import annotations

import secrets
import time

from kschedpatch.core.fleet.runids import new_run_id
from kschedpatch.core.imagenames import digest_of
from kschedpatch.model.clusterplan import ClusterPlan
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.fleetplan import FleetPlan, NodePlan
from kschedpatch.model.persistplan import PersistPlan
from kschedpatch.model.rollout import NodeOutcome, NodeResult, RolloutResult, RolloutSettings
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.change import Change
from kschedpatch.rollout.clusterlook import plan_for_apply
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.podprobe import pod_probe_of
from kschedpatch.rollout.run import Run

#: Seconds. Whoever thinks longer about the plan may have an image collected meanwhile.
_JUST_NOW = 60.0


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
    seen = {facts.label: facts for facts in fleet.facts}
    # Where only objects change, every node keeps what is done to them.
    taking_part = [node for node in plan.nodes if node.changed]
    if not taking_part and (cluster.changed or (persist is not None and persist.changed)):
        taking_part = list(plan.nodes)
    just_now = time.monotonic() - fleet.looked_at < _JUST_NOW
    changes = [
        _as_seen(_change(plan, node, api=api), seen.get(node.label), just_now=just_now)
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


def _as_seen(change: Change, facts: NodeFacts | None, *, just_now: bool) -> Change:
    if facts is None:
        return change
    image = change.preflight.image if change.preflight is not None else ""
    # By its digest it is asked for again: a name may have been given to something else.
    there = just_now and facts.images.get(image) is True and not digest_of(image)
    return change._replace(hostname=facts.hostname, image_is_there=there)


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
