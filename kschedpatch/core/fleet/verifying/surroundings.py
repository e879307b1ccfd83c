"""What lies around the scheduler on its node: other manifests, and what runs have left behind."""

from __future__ import annotations

from collections.abc import Iterator

from kschedpatch.core.fleet.noderules import about, competitors, left_behind
from kschedpatch.core.fleet.verifying.checking import checked, several
from kschedpatch.model.checks import Check
from kschedpatch.model.facts import NodeFacts


def surrounding_checks(node: NodeFacts) -> Iterator[Check]:
    strays = [*competitors(node)]
    evidence = several(finding.message for finding in strays) or "no other file is a scheduler's"
    yield checked(node.label, "manifests directory", evidence, strays)
    left = [*left_behind(node)]
    if left:
        evidence = several(finding.message for finding in left)
        yield checked(node.label, "left behind", evidence, left)
    for generation, said in node.kept_generation_problems.items():
        runs = [r.run for r in node.revisions if r.generation == generation]
        hint = f"do not rollback --to {runs[0]}: apply its patch again instead" if runs else ""
        finding = about(node, "N116", said, hint)
        yield checked(node.label, f"kept generation {generation}", said, [finding])
