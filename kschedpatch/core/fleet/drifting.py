"""What `status` has to say about nodes that are not as they were left. `verify` looks closer, and
finds the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kschedpatch.core.fleet.merging import merged
from kschedpatch.core.fleet.noderules import about, competitors, deadline_told, left_behind
from kschedpatch.core.fleet.verifying.cluster import cluster_state
from kschedpatch.core.fleet.verifying.manifests import manifest_checks
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding, Severity


def drift_findings(facts: Sequence[NodeFacts]) -> tuple[Finding, ...]:
    by_node = {node.label: [*_node(node)] for node in facts}
    return (*merged(by_node), *cluster_state(facts))


def _node(node: NodeFacts) -> Iterator[Finding]:
    for check in manifest_checks(node, None, None, against_patch=False):
        yield from (f for f in check.findings if f.severity is not Severity.NOTE)
    yield from competitors(node)
    yield from left_behind(node)
    if node.transaction is not None and not node.transaction.dead_man:
        hint = f"kschedpatch rollback {node.label}"
        yield about(node, "N112", deadline_told(node.transaction), hint)
