"""verify: is every node as its last run left it, or as a patch asks, and does it work?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kschedpatch.core.fleet.clusterrules import leads, lease_holders
from kschedpatch.core.fleet.merging import merged
from kschedpatch.core.fleet.verifying.cluster import cluster_checks
from kschedpatch.core.fleet.verifying.expectations import Expected
from kschedpatch.core.fleet.verifying.extenders import Services, extender_checks
from kschedpatch.core.fleet.verifying.health import health_checks
from kschedpatch.core.fleet.verifying.logs import log_checks
from kschedpatch.core.fleet.verifying.manifests import manifest_checks
from kschedpatch.core.fleet.verifying.probes import probe_checks
from kschedpatch.core.fleet.verifying.processes import process_checks
from kschedpatch.core.fleet.verifying.profiles import profile_checks
from kschedpatch.core.fleet.verifying.rights import Answered, Right, right_checks
from kschedpatch.core.fleet.verifying.sockets import socket_checks
from kschedpatch.core.fleet.verifying.surroundings import surrounding_checks
from kschedpatch.core.objects.drift import ObjectsNow, object_checks
from kschedpatch.model.checks import Check, Verdict
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding, in_reading_order
from kschedpatch.model.inspection import Inspection
from kschedpatch.model.probing import ProbeReport


class Evidence(NamedTuple):
    """All that was seen beside the facts; by label where it is a node's."""

    kept: Mapping[str, bytes] = MappingProxyType({})
    """What each node's last confirmed run left, where it is not like that any more."""
    expected: Mapping[str, Expected] = MappingProxyType({})
    against_patch: bool = False
    """A patch was given: the manifests are compared with what it makes of them."""
    inspections: Mapping[str, Inspection] = MappingProxyType({})
    services: Services = MappingProxyType({})
    rights: tuple[Right, ...] = ()
    answers: tuple[Answered, ...] | None = None
    api_problem: str = ""
    """Why the API server could not be asked."""
    objects: ObjectsNow = ObjectsNow()
    probes: ProbeReport | None = None
    """None: nobody asked for them."""
    findings: tuple[Finding, ...] = ()
    """What else was found on the way: the plan's own findings, a kept patch that can't be read."""


def verify_fleet(facts: Sequence[NodeFacts], evidence: Evidence) -> Verdict:
    holders = lease_holders(facts)
    by_node = {node.label: [*_node(node, evidence, leads=leads(node, holders))] for node in facts}
    # Of a cluster of which no node was reached there is nothing to say.
    of_cluster = [*cluster_checks(facts), *_cluster(facts, evidence, holders)] if facts else []
    findings = (
        *merged({label: _findings(checks) for label, checks in by_node.items()}),
        *_findings(of_cluster),
        *evidence.findings,
    )
    checks = (*(check for checks in by_node.values() for check in checks), *of_cluster)
    return Verdict(checks, in_reading_order(findings))


def _findings(checks: Sequence[Check]) -> list[Finding]:
    return [finding for check in checks for finding in check.findings]


def _node(node: NodeFacts, evidence: Evidence, *, leads: bool) -> Iterator[Check]:
    expected = evidence.expected.get(node.label, Expected())
    yield from manifest_checks(
        node,
        expected.plan,
        evidence.kept.get(node.label),
        against_patch=evidence.against_patch,
    )
    yield from surrounding_checks(node)
    yield from health_checks(node, leads=leads)
    seen = evidence.inspections.get(node.label)
    if seen is None:
        return
    yield from process_checks(node, seen)
    yield from profile_checks(node, expected, seen)
    yield from socket_checks(node, expected, seen)
    yield from extender_checks(node, expected.config, evidence.services, seen)


def _cluster(
    facts: Sequence[NodeFacts], evidence: Evidence, holders: frozenset[str]
) -> Iterator[Check]:
    expected = leading(facts, evidence.expected, holders)
    verify = expected.given.patch.spec.verify if expected.given is not None else None
    if verify is not None and evidence.inspections:
        known = {node.node_name for node in facts}
        yield from log_checks(
            verify.logs,
            evidence.inspections,
            leaders=[node.label for node in facts if leads(node, holders)],
            unseen_leader=", ".join(sorted(holders - known)),
            could_probe=bool(verify.pods) and evidence.probes is None,
        )
    yield from object_checks(evidence.objects)
    yield from right_checks(evidence.rights, evidence.answers, evidence.api_problem)
    if evidence.probes is not None:
        hosts = [name for node in facts for name in (node.hostname, node.node_name) if name]
        yield from probe_checks(evidence.probes, expected.config, hosts)


def leading(
    facts: Sequence[NodeFacts], expected: Mapping[str, Expected], holders: frozenset[str]
) -> Expected:
    """What is expected of the cluster as a whole: of its leader, else of the first node."""
    order = sorted(facts, key=lambda node: not leads(node, holders))
    known = [expected[node.label] for node in order if node.label in expected]
    return next((one for one in known if one.given is not None), next(iter(known), Expected()))
