"""From connected nodes to where each of them goes back to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kschedpatch.cli import fleets
from kschedpatch.core.fleet.clusterrules import in_rollout_order, leads, lease_holders
from kschedpatch.core.fleet.merging import merged
from kschedpatch.core.fleet.questions import Questions, about_manifests
from kschedpatch.core.fleet.rollbacks import NoTarget, Wanted, judge_target, wanted_of
from kschedpatch.model import exitcodes
from kschedpatch.model.finding import Finding, has_errors, in_reading_order
from kschedpatch.model.rollout import NodeOutcome, NodeResult, RollbackTarget, RolloutResult
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError

if TYPE_CHECKING:
    from kschedpatch.rollout.fleet import Fleet


class Chosen(NamedTuple):
    targets: tuple[RollbackTarget, ...]
    """Standbys first, the holder of the lease last."""
    refused: dict[str, str]
    """Nodes that do not go back, by label, with the reason; unreachable ones among them."""
    there_already: tuple[str, ...]
    findings: tuple[Finding, ...]


def targets_of(fleet: Fleet, to: str | None) -> Chosen:
    facts = in_rollout_order(fleets.look(fleet, Questions(), again=False))
    wishes = [(node, wanted_of(node, to)) for node in facts]
    fetched = {w.label: _fetch(fleet, w) for _, w in wishes if isinstance(w, Wanted)}
    contents = [content for content in fetched.values() if content is not None]
    seen = {node.label: node for node in fleets.look(fleet, about_manifests(contents), again=False)}
    holders = lease_holders(facts)
    targets: list[RollbackTarget] = []
    refused = {label: str(error) for label, error in fleet.failures.items()}
    there: list[str] = []
    by_node: dict[str, tuple[Finding, ...]] = {}
    for node, wish in wishes:
        now = seen.get(node.label)
        if now is None:
            continue  # lost in between: it is among the failures
        if isinstance(wish, NoTarget):
            target, findings = None, wish.findings
        else:
            leading = leads(node, holders)
            target, findings = judge_target(now, wish, fetched[wish.label], leads=leading)
        by_node[node.label] = findings
        if target is not None:
            targets.append(target)
        elif has_errors(findings):
            refused[node.label] = next(f.message for f in findings if f.is_error)
        else:
            there.append(node.label)
    findings = in_reading_order((*fleets.unreached(fleet), *merged(by_node)))
    return Chosen(tuple(targets), refused, tuple(there), findings)


def _fetch(fleet: Fleet, wanted: Wanted) -> bytes | None:
    if wanted.content is not None:
        return wanted.content
    try:
        kept = fleet.kept(wanted.label, wanted.run)
    except (NodeError, VerbFailed):
        return None
    return kept.before if wanted.side == "before" else kept.after


def with_the_others(result: RolloutResult, chosen: Chosen) -> RolloutResult:
    """The result with the nodes that took no part. Where one of them should have, it is no
    success: the cluster is mixed."""
    others = [
        NodeResult(label, "", NodeOutcome.NOT_REACHED, detail=reason)
        for label, reason in chosen.refused.items()
    ]
    others += [
        NodeResult(label, "", NodeOutcome.UNCHANGED, detail="was there already")
        for label in chosen.there_already
    ]
    code = result.exit_code
    if code == exitcodes.OK and chosen.refused:
        code = exitcodes.NOT_RESTORED
    return result._replace(nodes=(*result.nodes, *others), exit_code=code)
