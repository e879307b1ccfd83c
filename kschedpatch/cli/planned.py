"""From a loaded patch and connected nodes to a plan: for plan, apply and verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kschedpatch.cli import fleets
from kschedpatch.core.fleet.differences import renewed
from kschedpatch.core.fleet.planning import plan_fleet
from kschedpatch.core.fleet.questions import Questions, about_patch, ids_in
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.model.clusterplan import ClusterPlan
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding, has_errors, in_reading_order
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.outcome import Outcome
from kschedpatch.model.persistplan import PersistPlan

if TYPE_CHECKING:
    from kschedpatch.cli.options import Format
    from kschedpatch.inputs.loading import LoadedPatch
    from kschedpatch.rollout.fleet import Fleet


class Given(NamedTuple):
    given: PatchInput
    findings: tuple[Finding, ...]


class Planned(NamedTuple):
    plan: FleetPlan
    facts: tuple[NodeFacts, ...]
    labels: tuple[str, ...]
    cluster: ClusterPlan = ClusterPlan()
    """What becomes of objects; see ``with_objects``."""
    persist: PersistPlan = PersistPlan()
    """What becomes of what kubeadm is given."""

    @property
    def changed(self) -> bool:
        return self.plan.changed or self.cluster.changed or self.persist.changed


def with_objects(fleet: Fleet, made: Planned) -> Planned:
    """A look at the cluster's objects, where nothing stands against the plan already."""
    from kschedpatch.rollout.clusterlook import plan_for_apply
    from kschedpatch.rollout.persistlook import look_for_apply

    if not made.plan.ok or fleet.failures:
        return made
    cluster = plan_for_apply(fleet, made.plan)
    persist = look_for_apply(fleet, made.plan)
    findings = in_reading_order((*made.plan.findings, *cluster.findings, *persist.findings))
    plan = made.plan._replace(findings=findings)
    return made._replace(plan=plan, cluster=cluster, persist=persist)


def loaded_or_given_up(loaded: LoadedPatch, kind: str, output: Format) -> Given:
    """A patch that can be planned with; otherwise the command ends here, before any connection."""
    if loaded.given is None or has_errors(loaded.findings):
        outcome = Outcome(kind, in_reading_order(loaded.findings))
        fleets.give_up(outcome, output, "No node was contacted.")
    return Given(loaded.given, loaded.findings)


def planned(
    fleet: Fleet,
    given: PatchInput,
    *,
    partial: bool,
    persist: bool = False,
    version: KubeVersion | None = None,
) -> Planned:
    """``version``: as if the nodes ran that one."""
    facts = fleets.look(fleet, about_patch(given))
    if version is not None:
        facts = tuple(node._replace(kubelet=version) for node in facts)
    made = plan_fleet(given, facts, partial=partial)._replace(persist=persist)
    return _with_unreached(fleet, made, facts)


def renewed_plan(fleet: Fleet, kept: FleetPlan, *, partial: bool) -> Planned:
    paths = dict.fromkeys(path for node in kept.nodes for path, _ in node.path_types)
    images = dict.fromkeys(
        image
        for node in kept.nodes
        for image in (node.preflight.image, node.image_before, *ids_in(node.archive))
    )
    facts = fleets.look(fleet, Questions(tuple(paths), tuple(images)), again=False)
    return _with_unreached(fleet, renewed(kept, facts, partial=partial), facts)


def _with_unreached(fleet: Fleet, plan: FleetPlan, facts: tuple[NodeFacts, ...]) -> Planned:
    lost = fleets.unreached(fleet)
    # A node that was named and not reached is told as that, not as one that nobody named.
    noise = {"N005", "N006", "N020", "N021", "N304"} if lost else set()
    kept = (finding for finding in plan.findings if finding.code not in noise)
    findings = in_reading_order((*lost, *kept))
    labels = tuple(node.label for node in facts)
    return Planned(plan._replace(findings=findings), facts, labels)
