"""verify: looks at everything that the checks need, in few calls, and changes nothing. Only probe
pods are made, where they are asked for, and deleted again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kschedpatch.cluster.access import ask_rights, service_addresses
from kschedpatch.cluster.kubectl import ApiRefused, Kubectl
from kschedpatch.cluster.probepods import probe_pods
from kschedpatch.core.fleet.clusterrules import lease_holders
from kschedpatch.core.fleet.planning import plan_fleet
from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.core.fleet.serving import health_of, host_mounts, image_of
from kschedpatch.core.fleet.standing import Drift, drift_of, last_confirmed, patched_by
from kschedpatch.core.fleet.verifying.expectations import Expected, expected_of
from kschedpatch.core.fleet.verifying.extenders import (
    ServiceAddress,
    asked_extender,
    extenders_of,
)
from kschedpatch.core.fleet.verifying.fleet import Evidence, leading
from kschedpatch.core.fleet.verifying.probes import probes_of
from kschedpatch.core.fleet.verifying.rights import Answered, Right, rights_of
from kschedpatch.core.objects.drift import ObjectsNow
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.inputs.keptpatches import UnreadablePatch, read_kept_patch
from kschedpatch.model.codes import found
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.inspection import Inspection, InspectionAsked, SocketAsked
from kschedpatch.model.probing import ProbeReport
from kschedpatch.node.agent import Kept, VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.rollout.clusterlook import objects_asked, objects_now
from kschedpatch.rollout.fleet import Fleet, in_parallel

_UNANSWERED = (ApiRefused, NodeError, VerbFailed, ValueError)


class Wish(NamedTuple):
    given: PatchInput | None = None
    """None: each node is compared with what its last run has kept."""
    plan: FleetPlan | None = None
    """What the given patch makes of the nodes."""
    probe: bool = False
    probe_seconds: float = 60.0
    go_on: Callable[[], None] = lambda: None
    """Raises where the operator has asked to stop."""


def gather(fleet: Fleet, facts: Sequence[NodeFacts], wish: Wish) -> Evidence:
    kept = _kept(fleet, facts) if wish.given is None else {}
    expected, findings = _expected(facts, wish, kept)
    of_cluster = leading(facts, expected, lease_holders(facts))
    asked = rights_of(of_cluster.given) if of_cluster.given is not None else ()
    services, answers, problem = _api(fleet, facts, expected, asked)
    probes = _probes(fleet, facts, of_cluster, wish) if wish.probe else None
    return Evidence(
        kept={
            label: one.after
            for label, one in kept.items()
            if one.after is not None and _is_edited(facts, label)
        },
        expected=expected,
        against_patch=wish.given is not None,
        # After the probes: what they make the scheduler log is looked for.
        inspections=_inspections(fleet, facts, expected, services),
        services=services,
        rights=asked,
        answers=answers,
        api_problem=problem,
        objects=_objects(fleet, wish),
        probes=probes,
        findings=findings,
    )


def _is_edited(facts: Sequence[NodeFacts], label: str) -> bool:
    return any(node.label == label and drift_of(node) is Drift.EDITED for node in facts)


def _kept(fleet: Fleet, facts: Sequence[NodeFacts]) -> dict[str, Kept]:
    """What each node keeps: what its last run left, and the patch of what stands there."""

    def one(node: NodeFacts) -> Kept | None:
        last, patched = last_confirmed(node), patched_by(node)
        kept = Kept(None, None)
        try:
            if last is not None and drift_of(node) is Drift.EDITED:
                kept = kept._replace(after=fleet.kept(node.label, last.run).after)
            if patched is not None:
                kept = kept._replace(patch=fleet.kept(node.label, patched.run).patch)
        except (NodeError, VerbFailed):
            return None  # the difference is told without its lines then
        return kept

    found_ones = zip(facts, in_parallel(one, facts), strict=True)
    return {node.label: kept for node, kept in found_ones if kept is not None}


def _expected(
    facts: Sequence[NodeFacts], wish: Wish, kept: Mapping[str, Kept]
) -> tuple[dict[str, Expected], tuple[Finding, ...]]:
    if wish.given is not None:
        plans = {item.label: item for item in wish.plan.nodes} if wish.plan is not None else {}
        return {
            node.label: expected_of(wish.given, node, plans.get(node.label)) for node in facts
        }, (wish.plan.findings if wish.plan is not None else ())
    expected: dict[str, Expected] = {}
    findings: list[Finding] = []
    for node in facts:
        given = None
        text = kept[node.label].patch if node.label in kept else None
        if text:
            try:
                given = read_kept_patch(text, f"{node.label}:patch.yaml")
            except UnreadablePatch as error:
                findings.append(found("N147", str(error), file=node.label, hint="verify -f PATCH"))
        # Planned anew only for the configuration: by other rules than then, it may differ.
        plan = plan_fleet(given, [node], partial=True) if given is not None else None
        expected[node.label] = expected_of(
            given, node, next(iter(plan.nodes), None) if plan is not None and plan.ok else None
        )
    return expected, tuple(findings)


def _objects(fleet: Fleet, wish: Wish) -> ObjectsNow:
    if wish.given is None:
        return objects_now(fleet) if fleet.facts else ObjectsNow()
    return objects_asked(fleet, wish.plan) if wish.plan is not None else ObjectsNow()


def _ways(fleet: Fleet, facts: Sequence[NodeFacts]) -> list[Kubectl]:
    return [Kubectl(fleet.member(node.label).agent) for node in facts if node.api_answers]


def _api(
    fleet: Fleet,
    facts: Sequence[NodeFacts],
    expected: Mapping[str, Expected],
    asked: Sequence[Right],
) -> tuple[dict[tuple[str, str], ServiceAddress], tuple[Answered, ...] | None, str]:
    """Where the extenders' Services are, and what the scheduler may do."""
    services = [
        extender.service
        for one in expected.values()
        for extender in extenders_of(one.config)
        if extender.service is not None
    ]
    if not services and not asked:
        return {}, (), ""
    ways = _ways(fleet, facts)
    problem = "the API server does not answer"
    fleet.listener(Event(Phase.RIGHTS, State.STARTED))
    for kubectl in ways:
        try:
            answers = ask_rights(kubectl, asked)
            addresses = service_addresses(kubectl, services)
        except _UNANSWERED as error:
            problem = (str(error).strip().splitlines() or [""])[0][:300]
            continue
        fleet.listener(Event(Phase.RIGHTS, State.DONE))
        return addresses, answers, ""
    fleet.listener(Event(Phase.RIGHTS, State.SKIPPED, "", problem))
    return {}, None, problem


def _probes(
    fleet: Fleet, facts: Sequence[NodeFacts], expected: Expected, wish: Wish
) -> ProbeReport:
    pods = probes_of(expected.given) if expected.given is not None else ()
    ways = _ways(fleet, facts)
    if not pods:
        return ProbeReport(problem="the patch has none (spec.verify.pods)")
    if not ways:
        return ProbeReport(problem="the API server does not answer")

    def say(text: str) -> None:
        fleet.listener(Event(Phase.PROBE, State.PROGRESS, "", text))

    fleet.listener(Event(Phase.PROBE, State.STARTED))
    report = probe_pods(ways, pods, say, wish.go_on, wish.probe_seconds)
    bound = sum(bool(look.node) for look in report.looks)
    state = State.DONE if bound == len(pods) else State.FAILED
    fleet.listener(Event(Phase.PROBE, state, "", f"{bound} of {len(pods)} pods bound"))
    return report


def _inspections(
    fleet: Fleet,
    facts: Sequence[NodeFacts],
    expected: Mapping[str, Expected],
    services: Mapping[tuple[str, str], ServiceAddress],
) -> dict[str, Inspection]:
    def one(node: NodeFacts) -> Inspection | None:
        asked = _asked(node, expected[node.label], services)
        if asked is None:
            return None
        fleet.listener(Event(Phase.INSPECT, State.STARTED, node.label))

        def say(text: str) -> None:
            fleet.listener(Event(Phase.INSPECT, State.PROGRESS, node.label, text))

        try:
            seen = fleet.member(node.label).agent.inspect(asked, say)
        except (NodeError, VerbFailed) as error:
            fleet.failed(Phase.INSPECT, node.label, error)
            return None
        fleet.listener(Event(Phase.INSPECT, State.DONE, node.label))
        return seen

    seen = zip(facts, in_parallel(one, facts), strict=True)
    return {node.label: item for node, item in seen if item is not None}


def _asked(
    node: NodeFacts,
    expected: Expected,
    services: Mapping[tuple[str, str], ServiceAddress],
) -> InspectionAsked | None:
    manifest = manifest_of(node)
    if manifest is None:
        return None
    health = health_of(manifest, node.kubelet)
    verify = expected.given.patch.spec.verify if expected.given is not None else None
    reached = (asked_extender(item, services) for item in extenders_of(expected.config))
    return InspectionAsked(
        host=health.host,
        port=health.port,
        image=image_of(manifest),
        mounts=host_mounts(manifest),
        sockets=tuple(
            SocketAsked(item.path, item.http or "") for item in (verify.sockets if verify else ())
        ),
        extenders=tuple(item for item in reached if item is not None),
    )
