"""What a run would do to a Deployment and to the objects that it needs: one look at the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kschedpatch.cluster import deployments, objects
from kschedpatch.cluster.kubectl import UNANSWERED, ApiRefused, Kubectl
from kschedpatch.core.deployment import records
from kschedpatch.core.deployment.files import TARGET_LABEL
from kschedpatch.core.deployment.former import Way, runs_as, way_back, without_patch
from kschedpatch.core.deployment.merging import conflicts, with_client_side_fields
from kschedpatch.core.deployment.planning import Around, plan_deployment, target_of
from kschedpatch.core.deployment.records import Record
from kschedpatch.core.objects import deciding, marks
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.model.clusterplan import (
    ACTS,
    Action,
    Clearing,
    ClusterPlan,
    Entry,
    Ledger,
    Object,
    ObjectChange,
)
from kschedpatch.model.codes import found
from kschedpatch.model.deploymentplan import DeploymentPlan, DeploymentTarget
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.finding import Finding, has_errors, in_reading_order
from kschedpatch.model.kubeversion import parse_version
from kschedpatch.model.plan import ClusterObject
from kschedpatch.rollout.objects import Reach

_NOTHING = Ledger("", "")


class DeploymentLook(NamedTuple):
    target: DeploymentTarget
    plan: DeploymentPlan | None
    """None for a rollback."""
    change: ObjectChange | None
    """Of the Deployment itself; None where nothing can be planned."""
    cluster: ClusterPlan
    """Of everything that it needs."""
    live: Object | None
    runs: tuple[Record, ...]
    findings: tuple[Finding, ...]
    allowed: frozenset[str] = frozenset({marks.MANAGER})
    """Whose fields may be taken."""
    way: Way | None = None

    @property
    def ok(self) -> bool:
        return not has_errors(self.findings) and self.change is not None

    @property
    def changed(self) -> bool:
        acts = self.change is not None and self.change.action in ACTS
        return acts or self.cluster.changed


def look_for_apply(
    reach: Reach, given: PatchInput, take_over: Iterable[str] = ()
) -> DeploymentLook:
    target = target_of(given.patch)
    assert target is not None  # noqa: S101  the caller has asked
    reach.listener(Event(Phase.PLAN, State.PROGRESS, "", f"looking at {target.title}"))
    try:
        return _Applying(reach, given, target, frozenset({marks.MANAGER, *take_over})).look()
    except UNANSWERED as error:
        return _unanswered(target, error)


def _unanswered(target: DeploymentTarget, error: Exception) -> DeploymentLook:
    words = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
    findings = (found("N088", f"{target.title}: {words}"),)
    return DeploymentLook(target, None, None, ClusterPlan(), None, (), findings)


class _Applying:
    def __init__(
        self, reach: Reach, given: PatchInput, target: DeploymentTarget, allowed: frozenset[str]
    ) -> None:
        self.reach, self.given, self.target, self.allowed = reach, given, target, allowed
        self.kubectl: Kubectl = reach.kubectl()
        self.runs = deployments.kept_runs(self.kubectl, target)
        self.seen = objects.look(self.kubectl, [target.ref])
        self.live = self.seen.live.get(target.ref.key)

    def look(self) -> DeploymentLook:
        plan = self._plan()
        findings = [*plan.findings, *self._obstacles(), *about_open(self.runs)]
        change, cluster = None, ClusterPlan(plan.patch_name)
        if not has_errors(findings):
            cluster = self._objects(plan)
            change, problems = self._deployment(plan)
            findings += [*cluster.findings, *problems]
        ordered = in_reading_order(findings)
        return DeploymentLook(
            self.target, plan, change, cluster, self.live, self.runs, ordered, self.allowed
        )

    def _plan(self) -> DeploymentPlan:
        stock = deployments.stock_pods(self.kubectl)
        version = parse_version(self.kubectl.server_version())
        around = Around(
            version=version,
            stock_image=deployments.image_of_stock(stock),
            others=deployments.schedulers(self.kubectl, stock, self.reach.facts),
        )
        if self.live is not None and not self.target.is_new:
            base, applied = without_patch(self.live, self.runs, self.target)
            around = around._replace(base=base, former=applied)
        plan = plan_deployment(self.given, around)
        if self.live is None or self.target.is_new:
            return plan
        return plan._replace(document=with_client_side_fields(plan.document, self.live))

    def _obstacles(self) -> Iterator[Finding]:
        if self.live is None and not self.target.is_new:
            yield found("N087", f"there is no {self.target.title}")
        elif self.live is not None and self.target.is_new and not is_own(self.live):
            yield found("N086", f"{self.target.title} is there, and was not made by kschedpatch")

    def _objects(self, plan: DeploymentPlan) -> ClusterPlan:
        wanted = deciding.wishes(plan.objects)
        names = {wish.ref.key for wish in wanted}
        before = _needed(records.in_force(self.runs), self.target, names)
        ended = [_needed(run, self.target, names) for run in records.open_ones(self.runs)]
        kept = (before, *ended)
        refs = [*(w.ref for w in wanted), *(e.ref for part in kept for e in part.entries)]
        seen = objects.look(self.kubectl, refs)
        seen = seen._replace(loose=deciding.loose_ones(ended, seen))
        seen = objects.tried(self.kubectl, wanted, plan.patch_name, before, seen)
        decided = deciding.decide(wanted, plan.patch_name, before, seen)
        return _with_clearings(decided, ended, seen)

    def _deployment(self, plan: DeploymentPlan) -> tuple[ObjectChange | None, list[Finding]]:
        [wish] = deciding.wishes([ClusterObject(plan.document, "target")])
        before = records.in_force(self.runs)
        ledger = before.ledger if before is not None else None
        origin = deciding.origin_of(wish, ledger, self.live)
        body = marks.marked(wish.body, plan.patch_name, "", origin)
        problems = list(self._conflicts(body))
        if problems:
            return None, problems
        seen = self.seen._replace(
            loose=deciding.loose_ones((r.ledger for r in records.open_ones(self.runs)), self.seen)
        )
        if deciding.can_be_tried(wish, seen):
            try:
                dry = deployments.apply_deployment(self.kubectl, body, self.allowed, dry=True)
                seen = seen._replace(dry={wish.ref.key: dry})
            except ApiRefused as error:
                seen = seen._replace(refused={wish.ref.key: str(error)})
        decided = deciding.decide((wish,), plan.patch_name, ledger, seen)
        # That it is somebody's is what the target says.
        about = [f for f in decided.findings if f.code in {"N060", "N062", "N064"}]
        return decided.brought[0], about

    def _conflicts(self, body: Object) -> Iterator[Finding]:
        by_manager: dict[str, list[str]] = {}
        for manager, field in conflicts(body, self.live or {}):
            if manager not in self.allowed:
                by_manager.setdefault(manager, []).append(field)
        for manager, fields in by_manager.items():
            message = f"{self.target.title}: {manager} has set {', '.join(fields)}"
            yield found("N080", message, hint=f"change it there, or --take-over {manager}")


def is_own(live: Object) -> bool:
    """A Deployment that kschedpatch has made."""
    made = marks.note_of(live, marks.ORIGIN) == marks.CREATED
    return made and TARGET_LABEL in (live["metadata"].get("labels") or {})


def _needed(run: Record | None, target: DeploymentTarget, wanted: Iterable[object]) -> Ledger:
    """The ledger without the Deployment, and without ConfigMaps that are not wanted any more: a
    former revision needs them, so that they go with the record that names them."""
    if run is None:
        return _NOTHING
    keep = set(wanted)
    entries = tuple(
        entry
        for entry in run.ledger.entries
        if entry.ref.key != target.ref.key and (entry.ref.key in keep or not is_files(entry))
    )
    return run.ledger._replace(entries=entries)


def is_files(entry: Entry) -> bool:
    labels = ((entry.body or {}).get("metadata") or {}).get("labels") or {}
    return entry.ref.kind == "ConfigMap" and TARGET_LABEL in labels


def _with_clearings(plan: ClusterPlan, ended: Iterable[Ledger], seen: deciding.Seen) -> ClusterPlan:
    handled = {step.ref.key for step in plan.steps if step.action in ACTS}
    cleared = []
    for ledger in ended:
        steps = tuple(s for s in deciding.undone(ledger, seen) if s.ref.key not in handled)
        cleared.append(Clearing(ledger.run, steps))
    return plan._replace(cleared=tuple(cleared))


def about_open(runs: Iterable[Record]) -> Iterator[Finding]:
    for run in records.open_ones(runs):
        message = f"run {run.run} of {run.who} was not ended; the next one takes its place"
        yield found("N089", message)


def look_for_rollback(reach: Reach, target: DeploymentTarget, to: str | None) -> DeploymentLook:
    try:
        return _look_for_rollback(reach.kubectl(), target, to)
    except UNANSWERED as error:
        return _unanswered(target, error)


def _look_for_rollback(
    kubectl: Kubectl, target: DeploymentTarget, to: str | None
) -> DeploymentLook:
    runs = deployments.kept_runs(kubectl, target)
    live = objects.look(kubectl, [target.ref]).live.get(target.ref.key)
    way = way_back(runs, target, to)
    nothing = DeploymentLook(target, None, None, ClusterPlan(), live, runs, ())
    if isinstance(way, Finding):
        return nothing._replace(findings=(way,))
    names = {entry.ref.key for entry in way.ledger.entries}
    before = _needed(records.in_force(runs), target, names)
    ended = [_needed(run, target, names) for run in records.open_ones(runs)]
    goal = _needed(Record("", "", "", "", "", "", "", way.ledger), target, names)
    entries = (e for part in (before, goal, *ended) for e in part.entries)
    seen = objects.look(kubectl, [entry.ref for entry in entries])
    seen = seen._replace(loose=deciding.loose_ones(ended, seen))
    cluster = _with_clearings(deciding.go_to(goal, before, seen), ended, seen)
    findings = (*about_open(runs), *cluster.findings)
    change = _going_back(target, live, way, runs)
    return nothing._replace(change=change, cluster=cluster, findings=findings, way=way)


def _going_back(
    target: DeploymentTarget, live: Object | None, way: Way, runs: tuple[Record, ...]
) -> ObjectChange:
    given = marks.as_given(live) if live is not None else None
    newest = next(iter((*records.open_ones(runs), records.in_force(runs))), None)
    entry = newest.of(target) if newest is not None else None
    change = ObjectChange(
        Action.RESTORE,
        target.ref,
        way.deployment,
        live=given,
        original=entry.original if entry is not None else None,
        source=way.run,
    )
    if way.deployment is None:
        return change._replace(action=Action.DELETE if live is not None else Action.UNCHANGED)
    if live is None:
        return change._replace(action=Action.CREATE)
    same = runs_as(live, way.deployment) and marks.note_of(live, marks.RUN) == marks.note_of(
        way.deployment, marks.RUN
    )
    return change._replace(action=Action.UNCHANGED) if same else change
