"""Asks the nodes what the runs that they keep have changed."""

from __future__ import annotations

from collections.abc import Sequence

from kschedpatch.core.fleet.retelling import RunChange, run_change
from kschedpatch.core.objects import ledger
from kschedpatch.model.clusterplan import Ledger
from kschedpatch.model.facts import NodeFacts
from kschedpatch.node.agent import Kept, VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.rollout.fleet import Fleet, in_parallel


def changes_of_runs(fleet: Fleet, facts: Sequence[NodeFacts]) -> dict[str, RunChange]:
    """By run, as one of the nodes keeps it; without those of which no node can tell."""
    keepers: dict[str, list[str]] = {}
    for node in facts:
        for revision in node.revisions:
            if revision.kind:
                keepers.setdefault(revision.run, []).append(node.label)
    kept = _kept(fleet, keepers)
    told: dict[str, RunChange] = {}
    former: Ledger | None = None
    for run in sorted(kept):  # ids sort by time
        one = kept[run]
        own = ledger.decode(one.objects)
        told[run] = run_change(one.before, one.after, one.files, own, former)
        former = own or former
    return told


def _kept(fleet: Fleet, keepers: dict[str, list[str]]) -> dict[str, Kept]:
    # Spread over the nodes, and on each one after the other: sshd allows ten calls at a time.
    by_node: dict[str, list[str]] = {}
    for number, (run, labels) in enumerate(sorted(keepers.items())):
        by_node.setdefault(labels[number % len(labels)], []).append(run)

    def one(label: str) -> dict[str, Kept]:
        found = {}
        for run in by_node[label]:
            try:
                found[run] = fleet.kept(label, run)
            except (NodeError, VerbFailed):
                continue
        return found

    return {run: kept for part in in_parallel(one, list(by_node)) for run, kept in part.items()}
