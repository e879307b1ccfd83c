"""purge of nodes: objects first, while somebody still knows what they were before; then the nodes'
files, each node under its own lock."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import NamedTuple

from kschedpatch.cluster import kubeadmconfig, objects
from kschedpatch.cluster.kubectl import UNANSWERED
from kschedpatch.core.fleet.purging import (
    NodeTraces,
    kubeadm_finding,
    purge_findings,
    traces,
)
from kschedpatch.core.fleet.runids import new_run_id
from kschedpatch.core.kubeadm.keeping import UnreadableRecord
from kschedpatch.model import exitcodes
from kschedpatch.model.clusterplan import ClusterPlan, ObjectResult
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.finding import Finding, has_errors
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.node.purging import purge
from kschedpatch.rollout.clusterlook import plan_for_purge
from kschedpatch.rollout.fleet import Fleet, in_parallel

#: Longer than everything below may take: a lock that is over may be taken by the next run.
_EXTENT = 600
_LOST = (NodeError, VerbFailed)


class NodesPurge(NamedTuple):
    nodes: tuple[NodeTraces, ...]
    cluster: ClusterPlan = ClusterPlan()
    findings: tuple[Finding, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.nodes and not self.cluster.steps


class NodePurged(NamedTuple):
    label: str
    gone: tuple[str, ...] = ()
    problem: str = ""


class NodesPurged(NamedTuple):
    exit_code: int
    nodes: tuple[NodePurged, ...] = ()
    objects: tuple[ObjectResult, ...] = ()
    left: tuple[str, ...] = ()
    """Objects that should have gone."""
    detail: str = ""

    @property
    def changed(self) -> bool:
        return bool(self.objects) or any(node.gone for node in self.nodes)


def plan_nodes_purge(fleet: Fleet, *, partial: bool) -> NodesPurge:
    plan = NodesPurge(traces(fleet.facts), findings=purge_findings(fleet.facts, partial=partial))
    if has_errors(plan.findings):
        return plan
    cluster = plan_for_purge(fleet, partial=partial)
    findings = (*plan.findings, *cluster.findings, *_of_kubeadm(fleet))
    return plan._replace(cluster=cluster, findings=findings)


def _of_kubeadm(fleet: Fleet) -> Sequence[Finding]:
    if not any(node.api_answers for node in fleet.facts):
        return ()
    try:
        there = kubeadmconfig.find(fleet.kubectl())
    except UNANSWERED:
        return ()
    except UnreadableRecord:
        return tuple(kubeadm_finding("", "an unreadable run"))
    return tuple(kubeadm_finding(there.text, there.kept.run if there.kept is not None else ""))


def purge_nodes(fleet: Fleet, plan: NodesPurge, who: str) -> NodesPurged:
    run = new_run_id(time.time(), secrets.randbits(16))
    labels = [node.label for node in plan.nodes]
    refused = _locked(fleet, labels, run, who)
    if refused:
        return NodesPurged(exitcodes.REFUSED, detail=refused)
    steps = plan.cluster.steps
    acted = objects.put_back(fleet.kubectl(), steps) if steps else objects.Acted(())
    if acted.left:
        _unlock(fleet, labels, run)
        titles = tuple(step.ref.title for step in acted.left)
        return NodesPurged(exitcodes.NOT_RESTORED, (), acted.results, titles, acted.detail)
    nodes = tuple(in_parallel(lambda label: _purged(fleet, label, run), labels))
    code = exitcodes.NOT_RESTORED if any(node.problem for node in nodes) else exitcodes.OK
    return NodesPurged(code, nodes, acted.results)


def _locked(fleet: Fleet, labels: Sequence[str], run: str, who: str) -> str:
    """Why not all of them are; none is then."""
    for number, label in enumerate(labels):
        try:
            fleet.member(label).agent.lock(run, "purge", who, _EXTENT)
        except _LOST as error:
            fleet.listener(Event(Phase.LOCK, State.FAILED, label, str(error)))
            _unlock(fleet, labels[: number + 1], run)
            return str(error)
        fleet.listener(Event(Phase.LOCK, State.DONE, label))
    return ""


def _unlock(fleet: Fleet, labels: Sequence[str], run: str) -> None:
    for label in labels:
        try:
            fleet.member(label).agent.unlock(run)
        except _LOST as error:  # its time will be over some day
            fleet.listener(Event(Phase.FINISH, State.FAILED, label, str(error)))


def _purged(fleet: Fleet, label: str, run: str) -> NodePurged:
    def say(text: str) -> None:
        fleet.listener(Event(Phase.FINISH, State.PROGRESS, label, text))

    try:
        gone = purge(fleet.member(label).agent, run, say)
    except VerbFailed as error:
        fleet.listener(Event(Phase.FINISH, State.FAILED, label, error.detail))
        if error.reason != "disk":
            _unlock(fleet, [label], run)
        return NodePurged(label, problem=", ".join((error.detail, *error.reply.all("left"))))
    except NodeError as error:
        fleet.listener(Event(Phase.FINISH, State.FAILED, label, str(error)))
        return NodePurged(label, problem=str(error))
    fleet.listener(Event(Phase.FINISH, State.DONE, label))
    return NodePurged(label, gone)
