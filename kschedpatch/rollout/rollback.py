"""rollback: every node that can be reached goes back; what can't be reached is named.

Made for three in the morning: no API server is needed, and no proof beforehand can block it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from kschedpatch.cluster.kubectl import ApiRefused, Kubectl
from kschedpatch.core.fleet.runids import new_run_id
from kschedpatch.model import exitcodes
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.fleetplan import Health
from kschedpatch.model.rollout import (
    NodeOutcome,
    NodeResult,
    RollbackTarget,
    RolloutResult,
    RolloutSettings,
)
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.rollout.cancel import Abandoned, Cancel
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.run import Run
from kschedpatch.rollout.turn import Change, Turn

#: Where nothing is known of the old scheduler but its default port.
_ANY_HEALTH = Health("127.0.0.1", 10259, "/healthz", proves_readiness=True)


def roll_back(
    fleet: Fleet,
    targets: Sequence[RollbackTarget],
    settings: RolloutSettings,
    cancel: Cancel,
) -> RolloutResult:
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
        # Nothing of the scheduler that comes back is tried beforehand: it has run here before.
        trusting = settings._replace(preflight=False, canary=False, probe=False)
        execution = Run(run, "rollback", fleet, changes, trusting, cancel)
        result = execution.execute() if changes else RolloutResult(run, "rollback", 0, ())
        notes = [*result.notes]
        if result.exit_code == exitcodes.OK and all(t.un_patched for t in targets):
            notes += _take_rbac_away(fleet, targets, facts)
    nodes = (*ended, *result.nodes)
    code = result.exit_code
    if code == exitcodes.OK and any(
        n.outcome in (NodeOutcome.NOT_RESTORED, NodeOutcome.LEFT_TO_NODE) for n in ended
    ):
        code = exitcodes.NOT_RESTORED
    return result._replace(nodes=nodes, exit_code=code, notes=tuple(notes))


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
    change = Change(
        label=target.label,
        node_name=node.node_name,
        machine_id=node.machine_id,
        before_sha256="",
        after="",
        after_sha256="",
        generation=None,
        health=health,
        health_before=health,
        preflight=None,
        image_before="",
        leads=False,
        patch_name="",
        patch_text="",
    )
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
        preflight=plan.preflight,
        image_before=plan.image_before,
        leads=plan.leads,
        patch_name="",
        patch_text="",
        lease=plan.lease if facts.api_answers else "",
        hostname=facts.hostname,
        in_place=facts.live is None or not facts.live.ready,
    )


def _take_rbac_away(
    fleet: Fleet, targets: Sequence[RollbackTarget], facts: dict[str, NodeFacts]
) -> list[str]:
    """The rights that the patches of these nodes brought, now that nobody uses them."""
    names = {
        revision.patch
        for target in targets
        for revision in facts[target.label].revisions
        if revision.patch
    }
    if not names or not any(f.api_answers for f in facts.values()):
        return []
    kubectl = Kubectl(fleet.members[0].agent)
    try:
        kubectl.delete_labelled(sorted(names))
    except (ApiRefused, NodeError, VerbFailed) as error:
        return [f"rights of the patch may still be there: {error}"]
    return []
