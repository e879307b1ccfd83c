"""From a loaded patch and connected nodes to a plan: for plan, apply and verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kschedpatch.cli import fleets
from kschedpatch.core.fleet.differences import renewed
from kschedpatch.core.fleet.planning import plan_fleet
from kschedpatch.core.fleet.questions import Questions, about_patch
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding, has_errors, in_reading_order
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.outcome import Outcome

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


def loaded_or_given_up(loaded: LoadedPatch, kind: str, output: Format) -> Given:
    """A patch that can be planned with; otherwise the command ends here, before any connection."""
    if loaded.given is None or has_errors(loaded.findings):
        outcome = Outcome(kind, in_reading_order(loaded.findings))
        fleets.give_up(outcome, output, "No node was contacted.")
    return Given(loaded.given, loaded.findings)


def planned(fleet: Fleet, given: PatchInput, *, partial: bool) -> Planned:
    facts = fleets.look(fleet, about_patch(given))
    return _with_unreached(fleet, plan_fleet(given, facts, partial=partial), facts)


def renewed_plan(fleet: Fleet, kept: FleetPlan, *, partial: bool) -> Planned:
    paths = dict.fromkeys(path for node in kept.nodes for path, _ in node.path_types)
    images = dict.fromkeys(
        image for node in kept.nodes for image in (node.preflight.image, node.image_before)
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
