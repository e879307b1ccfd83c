"""Does the scheduler work: ready, restarts, leadership; and is a run open?"""

from __future__ import annotations

from collections.abc import Iterator

from kschedpatch.core.fleet.noderules import about, deadline_told, transaction_told
from kschedpatch.core.fleet.verifying.checking import checked
from kschedpatch.model.checks import Check
from kschedpatch.model.facts import NodeFacts


def health_checks(node: NodeFacts, *, leads: bool) -> Iterator[Check]:
    yield from _open_run(node)
    yield from _ready(node, leads=leads)
    newest = next((item for item in node.revisions if item.kind), None)
    if newest is not None and newest.outcome in {"failed", "foreign"}:
        message = f"run {newest.run} ended as {newest.outcome}"
        yield checked(node.label, "last run", message, [about(node, "N111", message)])


def _open_run(node: NodeFacts) -> Iterator[Check]:
    if node.transaction is None:
        return
    hint = f"wait, or kschedpatch rollback {node.label}"
    findings = [about(node, "N106", transaction_told(node.transaction), hint)]
    if not node.transaction.dead_man:
        findings.append(about(node, "N112", deadline_told(node.transaction), hint))
    yield checked(node.label, "no open run", transaction_told(node.transaction), findings)


def _ready(node: NodeFacts, *, leads: bool) -> Iterator[Check]:
    live = node.live
    if live is None:
        message = "no scheduler runs here"
        yield checked(node.label, "ready", message, [about(node, "N104", message)])
        return
    if not live.ready:
        message = f"it runs and is not ready (restarts: {live.restarts})"
        yield checked(node.label, "ready", message, [about(node, "N104", message)])
        return
    role = "leads" if leads else "a standby"
    yield checked(node.label, "ready", f"process {live.pid} says so; {role}")
    message = f"restarts: {live.restarts}"
    findings = [about(node, "N105", message)] if live.restarts else []
    yield checked(node.label, "restarts", str(live.restarts), findings)
