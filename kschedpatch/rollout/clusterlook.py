"""What a run would do to objects of the cluster: the nodes' ledgers and one look at the API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kschedpatch.cluster import objects
from kschedpatch.cluster.kubectl import UNANSWERED
from kschedpatch.core.objects import deciding, drift, ledger
from kschedpatch.core.objects.drift import ObjectsNow
from kschedpatch.model.clusterplan import ACTS, Clearing, ClusterPlan, Ledger, Ref
from kschedpatch.model.codes import found
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.revision import ORIGINAL
from kschedpatch.model.rollout import RollbackTarget
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.rollout.fleet import Fleet

_NOTHING = Ledger("", "")
_NEXT = "the next apply or rollback puts them in order"


class _Kept:
    """What the nodes keep of earlier runs."""

    def __init__(self, fleet: Fleet, ended: Iterable[str] = ()) -> None:
        facts = fleet.facts
        self.fleet = fleet
        self.before = self.of(ledger.last_confirmed_run(facts))
        over = set(ended)
        closed = [
            node._replace(transaction=None)
            if node.transaction is not None and node.transaction.run in over
            else node
            for node in facts
        ]
        self.dangling = [self.of(run) for run in ledger.dangling_runs(closed)]

    def of(self, run: str) -> Ledger:
        """Empty where the run left nothing, or nobody knows any more."""
        for label in ledger.keepers(self.fleet.facts, run) if run else ():
            try:
                kept = ledger.decode(self.fleet.kept(label, run).objects)
            except (NodeError, VerbFailed):
                continue
            if kept is not None:
                return kept
        return _NOTHING._replace(run=run)

    @property
    def anything(self) -> bool:
        return bool(self.before.entries or any(item.entries for item in self.dangling))


def plan_for_apply(fleet: Fleet, plan: FleetPlan) -> ClusterPlan:
    wanted = deciding.wishes((*plan.rbac, *plan.objects))
    kept = _Kept(fleet)
    if not wanted and not kept.anything:
        return ClusterPlan(plan.patch_name)
    target = _NOTHING._replace(patch=plan.patch_name)
    if not _api(fleet.facts):
        return _blind(deciding.unseen(target, kept.before))
    try:
        seen = _seen(fleet, kept, (wish.ref for wish in wanted))
        seen = objects.tried(fleet.kubectl(), wanted, plan.patch_name, kept.before, seen)
    except UNANSWERED as error:
        words = str(error).splitlines()[0]
        return ClusterPlan(plan.patch_name, findings=(found("N068", words),))
    decided = deciding.decide(wanted, plan.patch_name, kept.before, seen)
    return _bounded(_with_clearings(decided, kept, seen))


def plan_for_rollback(fleet: Fleet, targets: Sequence[RollbackTarget]) -> ClusterPlan:
    """Nothing may stand in its way: what can't be looked at is kept for later."""
    kept = _Kept(fleet, (target.run for target in targets if target.ends_transaction))
    target = _target(fleet, kept, targets)
    if not kept.anything and not target.entries:
        return ClusterPlan(target.patch)
    blind = deciding.unseen(target, kept.before)
    if not _api(fleet.facts):
        return _blind(blind)
    try:
        seen = _seen(fleet, kept, (entry.ref for entry in target.entries))
    except UNANSWERED as error:
        return _blind(blind, str(error).splitlines()[0])
    return _with_clearings(deciding.go_to(target, kept.before, seen), kept, seen)


def plan_for_purge(fleet: Fleet, *, partial: bool = False) -> ClusterPlan:
    """Everything that runs have brought goes, or becomes what it was. The ledgers go afterwards, so
    nothing may be kept for later. Of a part of the nodes only files go: the others may need it."""
    kept = _Kept(fleet)
    if not kept.anything:
        return ClusterPlan()
    if partial:
        there = [entry.ref.title for entry in kept.before.entries if entry.body is not None]
        message = f"they stay, for the other nodes' sake: {', '.join(there)}"
        hint = "purge of all nodes at once, without --partial, takes them away"
        return ClusterPlan(findings=(found("N069", message, hint=hint),) if there else ())
    hint = "bring it up first: with the nodes' files goes what they know of these objects"
    if not _api(fleet.facts):
        return ClusterPlan(findings=(found("N068", "no API server answers", hint=hint),))
    try:
        seen = _seen(fleet, kept, ())
    except UNANSWERED as error:
        return ClusterPlan(findings=(found("N068", str(error).splitlines()[0], hint=hint),))
    return _with_clearings(deciding.go_to(_NOTHING, kept.before, seen), kept, seen)


def _target(fleet: Fleet, kept: _Kept, targets: Sequence[RollbackTarget]) -> Ledger:
    for target in targets:
        if target.ends_transaction:
            continue
        if target.run == ORIGINAL:
            return _NOTHING
        if target.side == "after":
            return kept.of(target.run)
        return kept.of(ledger.last_confirmed_run(fleet.facts, before=target.run))
    return kept.before


def object_findings(fleet: Fleet) -> tuple[Finding, ...]:
    """For `status`: what is not as the last run left it, and what runs have left undone."""
    if not fleet.facts:
        return ()
    now = [f for check in drift.object_checks(objects_now(fleet)) for f in check.findings]
    return (*leftovers(fleet), *now)


def leftovers(fleet: Fleet) -> tuple[Finding, ...]:
    """What the next apply or rollback puts in order, by the ledgers alone."""
    kept = _Kept(fleet)
    findings = []
    newest = ledger.last_confirmed_run(fleet.facts)
    states = {r.objects for node in fleet.facts for r in node.revisions if r.run == newest}
    still = [entry for entry in kept.before.entries if entry.body is None]
    if still and ledger.OPEN in states:
        titles = ", ".join(entry.ref.title for entry in still)
        findings.append(found("N069", f"run {newest} could not take away: {titles}", hint=_NEXT))
    for item in kept.dangling:
        titles = ", ".join(entry.ref.title for entry in item.entries if entry.body is not None)
        message = f"run {item.run} was not confirmed and may have left: {titles}"
        findings.append(found("N069", message, hint=_NEXT))
    return tuple(findings)


def objects_now(fleet: Fleet) -> ObjectsNow:
    """Whether the cluster still has what the last confirmed run brought."""
    kept = _Kept(fleet)
    if not any(entry.body is not None for entry in kept.before.entries):
        return ObjectsNow()
    if not _api(fleet.facts):
        return ObjectsNow(problem="the API server does not answer")
    try:
        seen = _seen(fleet, kept, (), Phase.RIGHTS)
        written = drift.touched(kept.before, seen)
        seen = objects.tried(fleet.kubectl(), written, kept.before.patch, kept.before, seen)
    except UNANSWERED as error:
        return ObjectsNow(problem=str(error).splitlines()[0])
    return ObjectsNow(drift.as_left(kept.before, seen))


def objects_asked(fleet: Fleet, plan: FleetPlan) -> ObjectsNow:
    """Whether it has what a patch asks for."""
    decided = plan_for_apply(fleet, plan)
    refused = [finding.message for finding in decided.findings if finding.code == "N068"]
    return ObjectsNow(decided.brought, decided.blind or "".join(refused))


def _api(facts: Iterable[NodeFacts]) -> bool:
    return any(node.api_answers for node in facts)


def _seen(
    fleet: Fleet, kept: _Kept, wanted: Iterable[Ref], phase: Phase = Phase.PLAN
) -> deciding.Seen:
    fleet.listener(Event(phase, State.PROGRESS, "", "looking at the cluster's objects"))
    ledgers = (kept.before, *kept.dangling)
    refs = [*wanted, *(entry.ref for item in ledgers for entry in item.entries)]
    seen = objects.look(fleet.kubectl(), refs)
    return seen._replace(loose=deciding.loose_ones(kept.dangling, seen))


def _with_clearings(plan: ClusterPlan, kept: _Kept, seen: deciding.Seen) -> ClusterPlan:
    handled = {step.ref.key for step in plan.steps if step.action in ACTS}
    cleared = []
    findings = list(plan.findings)
    for item in kept.dangling:
        steps = tuple(s for s in deciding.undone(item, seen) if s.ref.key not in handled)
        cleared.append(Clearing(item.run, steps))
        if steps:
            titles = ", ".join(step.ref.title for step in steps)
            message = f"of run {item.run}, which was not confirmed: {titles}"
            findings.append(found("N071", message))
    return plan._replace(cleared=tuple(cleared), findings=tuple(findings))


def _blind(plan: ClusterPlan, why: str = "no API server answers") -> ClusterPlan:
    waiting = [step for step in plan.steps if step.action in ACTS]
    titles = ", ".join(step.ref.title for step in waiting)
    findings = []
    if waiting:
        findings.append(found("N069", f"{why}: {titles} stay as they are for now", hint=_NEXT))
    return plan._replace(blind=why, findings=tuple(findings))


def _bounded(plan: ClusterPlan) -> ClusterPlan:
    size = len(ledger.encode(ledger.opened("", plan)))
    if size <= ledger.MAX_BYTES:
        return plan
    message = f"{size >> 10} KiB would have to be kept, the bound is {ledger.MAX_BYTES >> 10} KiB"
    return plan._replace(findings=(*plan.findings, found("N070", message)))
