"""rollback: every node that can be reached goes back; what can't be reached is named.

Made for three in the morning: no API server is needed, and no proof beforehand can block it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from kschedpatch.core.fleet.runids import new_run_id
from kschedpatch.model import exitcodes
from kschedpatch.model.clusterplan import ACTS, ClusterPlan
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.fleetplan import Health
from kschedpatch.model.persistplan import PersistPlan
from kschedpatch.model.rollout import (
    NodeOutcome,
    NodeResult,
    RollbackTarget,
    RolloutResult,
    RolloutSettings,
)
from kschedpatch.rollout.cancel import Abandoned, Cancel
from kschedpatch.rollout.change import Change
from kschedpatch.rollout.clusterlook import plan_for_rollback
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.objects import ObjectsPart
from kschedpatch.rollout.run import Run
from kschedpatch.rollout.turn import Turn

#: Where nothing is known of the old scheduler but its default port.
_ANY_HEALTH = Health("127.0.0.1", 10259, "/healthz", proves_readiness=True)


def roll_back(
    fleet: Fleet,
    targets: Sequence[RollbackTarget],
    settings: RolloutSettings,
    cancel: Cancel,
    *,
    cluster: ClusterPlan | None = None,
    persist: PersistPlan | None = None,
) -> RolloutResult:
    """``cluster`` is what becomes of objects; without it, that is looked at here."""
    cluster = plan_for_rollback(fleet, targets) if cluster is None else cluster
    facts = {f.label: f for f in fleet.facts}
    run = new_run_id(time.time(), secrets.randbits(16))
    open_ones = [t for t in targets if t.ends_transaction]
    with cancel.by_signals():
        ended = [_ended(fleet, target, facts, settings, cancel) for target in open_ones]
        changes = [
            _change(target, facts[target.label])
            for target in targets
            if not target.ends_transaction
        ]
        of_kubeadm = persist is not None and persist.changed
        of_objects = any(step.action in ACTS for step in cluster.brought + cluster.removed)
        if not changes and (of_objects or of_kubeadm):
            # Only objects are left to be put in order: the nodes keep that it was done.
            changes = [_no_change(node) for node in fleet.facts if node.transaction is None]
        # Nothing of the scheduler that comes back is tried beforehand: it has run here before.
        trusting = settings._replace(preflight=False, canary=False, probe=False)
        execution = Run(
            run, "rollback", fleet, changes, trusting, cancel, cluster=cluster, persist=persist
        )
        result = execution.execute() if changes else RolloutResult(run, "rollback", 0, ())
        if result.exit_code == exitcodes.OK:
            result = _cleared(execution.objects, result, ended)
    nodes = (*ended, *result.nodes)
    code = result.exit_code
    if code == exitcodes.OK and any(
        n.outcome in (NodeOutcome.NOT_RESTORED, NodeOutcome.LEFT_TO_NODE) for n in ended
    ):
        code = exitcodes.NOT_RESTORED
    return result._replace(nodes=nodes, exit_code=code)


def _cleared(
    objects: ObjectsPart, result: RolloutResult, ended: Sequence[NodeResult]
) -> RolloutResult:
    """What runs have left behind that are ended now, or were long ago. Not as long as one of them
    may go on somewhere."""
    over = (NodeOutcome.RESTORED, NodeOutcome.UNCHANGED)
    if all(node.outcome in over for node in ended):
        objects.clear_afterwards()
    return result._replace(
        objects=tuple(objects.results),
        leftovers=objects.leftovers,
        notes=(*result.notes, *(n for n in objects.notes if n not in result.notes)),
    )


def _ended(
    fleet: Fleet,
    target: RollbackTarget,
    facts: dict[str, NodeFacts],
    settings: RolloutSettings,
    cancel: Cancel,
) -> NodeResult:
    """An open run of somebody's: its own token is the way back."""
    node = facts[target.label]
    health = target.plan.health if target.plan is not None else _ANY_HEALTH
    change = _no_change(node)._replace(health=health, health_before=health)
    member = fleet.member(target.label)
    turn = Turn(target.run, "rollback", member, change, settings, fleet.listener, cancel)
    try:
        turn.restore()
    except Abandoned:
        turn.outcome = NodeOutcome.LEFT_TO_NODE
    outcome = turn.outcome
    return NodeResult(
        turn.label, node.node_name, outcome, None, turn.seconds_to_restored, turn.detail
    )


def _no_change(node: NodeFacts) -> Change:
    file = node.manifest
    return Change(
        label=node.label,
        node_name=node.node_name,
        machine_id=node.machine_id,
        before_sha256=file.sha256 if file else "",
        after=file.content.decode("utf-8", "surrogateescape") if file else "",
        after_sha256=file.sha256 if file else "",
        generation=None,
        health=_ANY_HEALTH,
        health_before=_ANY_HEALTH,
        preflight=None,
        image_before="",
        leads=False,
        patch_name="",
        patch_text="",
    )


def _change(target: RollbackTarget, facts: NodeFacts) -> Change:
    plan = target.plan
    assert plan is not None  # noqa: S101  only an open run may lack it
    return Change(
        label=plan.label,
        node_name=plan.node_name,
        machine_id=plan.machine_id,
        before_sha256=facts.manifest.sha256 if facts.manifest else "",
        after=plan.after,
        after_sha256=plan.after_sha256,
        generation=None,
        health=plan.health,
        health_before=plan.health_before,
        # Only the image is looked for: without it the scheduler could not come back.
        preflight=plan.preflight if plan.changed else None,
        image_before=plan.image_before,
        leads=plan.leads,
        patch_name="",
        patch_text="",
        lease=plan.lease if facts.api_answers else "",
        hostname=facts.hostname,
        in_place=facts.live is None or not facts.live.ready,
    )
