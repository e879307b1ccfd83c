"""What the nodes show only together: a mixed cluster, nobody who leads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kschedpatch.core.fleet.clusterrules import lease_holders
from kschedpatch.core.fleet.standing import patched_how
from kschedpatch.core.fleet.verifying.checking import checked, unchecked
from kschedpatch.model.checks import Check
from kschedpatch.model.codes import found
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding


def cluster_state(facts: Sequence[NodeFacts]) -> Iterator[Finding]:
    yield from _mixed(facts)
    yield from _leaderless(facts)


def cluster_checks(facts: Sequence[NodeFacts]) -> Iterator[Check]:
    told = {_kind_told(patched_how(node)) for node in facts if node.manifest is not None}
    if told:
        yield checked("", "all nodes alike", "; ".join(sorted(told)), _mixed(facts))
    holders = lease_holders(facts)
    if not any(node.api_answers for node in facts):
        yield unchecked("", "leader", "the API server does not answer")
    else:
        evidence = ", ".join(sorted(holders)) or "the lease has no holder"
        yield checked("", "leader", evidence, _leaderless(facts))


def _mixed(facts: Sequence[NodeFacts]) -> Iterator[Finding]:
    kinds: dict[tuple[str, ...], list[str]] = {}
    for node in facts:
        if node.manifest is not None:
            kinds.setdefault(patched_how(node), []).append(node.label)
    if len(kinds) > 1:
        told = "; ".join(f"{', '.join(labels)}: {_kind_told(how)}" for how, labels in kinds.items())
        labels = " ".join(node.label for node in facts)
        hint = f"kschedpatch apply -f PATCH {labels}, or kschedpatch rollback {labels}"
        yield found("N107", told, hint=hint)


def _leaderless(facts: Sequence[NodeFacts]) -> Iterator[Finding]:
    if any(node.api_answers for node in facts) and not any(node.lease_holder for node in facts):
        yield found("N110", "the lease kube-system/kube-scheduler has no holder")


def _kind_told(how: tuple[str, ...]) -> str:
    if not how:
        return "un-patched"
    patch, generation = how[:2]
    return f"patch {patch}, generation {generation}" if generation else f"patch {patch}"
