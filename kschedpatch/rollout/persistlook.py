"""What would become of what kubeadm is given: one look at the cluster, and the nodes' facts."""

from __future__ import annotations

from collections.abc import Sequence

from kschedpatch.cluster import kubeadmconfig
from kschedpatch.cluster.kubectl import UNANSWERED
from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.core.kubeadm.keeping import RECORD_REF, UnreadableRecord
from kschedpatch.core.kubeadm.planning import Rendered, plan_persist
from kschedpatch.core.kubeadm.unpatching import base_below
from kschedpatch.core.manifest.base import base_hash
from kschedpatch.core.manifest.document import BASE_ANNOTATION, read_manifest
from kschedpatch.model.codes import found
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.persistplan import NodePatch, PersistPlan
from kschedpatch.model.rollout import RollbackTarget
from kschedpatch.rollout.fleet import Fleet

_MISSING = "there is no ConfigMap kube-system/kubeadm-config: was this cluster made by kubeadm?"
_LATER = "kschedpatch apply --persist, or rollback, brings it in step"


def look_for_apply(fleet: Fleet, plan: FleetPlan) -> PersistPlan:
    if not any(node.api_answers for node in fleet.facts):
        why = "no API server answers"
        return _refused(why) if plan.persist else PersistPlan(blind=why)
    try:
        there = kubeadmconfig.find(fleet.kubectl())
    except UNANSWERED as error:
        return _refused(_first(error)) if plan.persist else PersistPlan(blind=_first(error))
    except UnreadableRecord as error:
        return _refused(f"{RECORD_REF.title}: {error}") if plan.persist else PersistPlan()
    if not plan.persist and there.kept is None:
        return PersistPlan()
    if there.config is None:
        return _refused(_MISSING)
    facts = {node.label: node for node in fleet.facts}
    nodes = [
        Rendered(node.label, node.base, node.after, _patch_now(facts[node.label]))
        for node in plan.nodes
    ]
    made = plan_persist(nodes, plan.patch_name, there.text, there.kept)
    if not plan.persist and there.kept is not None and made.changed:
        message = f"run {there.kept.run} was persisted: what kubeadm is given follows this one"
        return made._replace(findings=(*made.findings, found("N098", message)))
    return made


def look_for_rollback(fleet: Fleet, targets: Sequence[RollbackTarget]) -> PersistPlan:
    """Nothing may stand in its way: what can't be brought in step is told."""
    facts = {node.label: node for node in fleet.facts}
    given = any(node.kubeadm_patch for node in facts.values())
    try:
        there = kubeadmconfig.find(fleet.kubectl()) if _api(fleet) else None
    except UNANSWERED:
        there = None
    except UnreadableRecord as error:
        return PersistPlan(findings=(_behind(f"{RECORD_REF.title}: {error}"),))
    if there is None:
        why = "no API server answers"
        return PersistPlan(blind=why, findings=(_behind(why),) if given else ())
    if there.kept is None and not given:
        return PersistPlan()
    going = {target.label: target for target in targets}
    nodes = []
    for label, node in facts.items():
        one = _rendered(node, going.get(label))
        if one is None:
            message = f"{label}: nobody knows what its manifest is made from then"
            return PersistPlan(findings=(_behind(message),))
        nodes.append(one)
    if there.kept is None:
        return _only_files(nodes, there.text)
    made = plan_persist(nodes, there.kept.patch, there.text, there.kept)
    if made.findings:
        told = tuple(_behind(finding.message) for finding in made.findings)
        return PersistPlan(findings=told)
    return made


def _only_files(nodes: Sequence[Rendered], text: str) -> PersistPlan:
    """Nothing was ever put into kubeadm's configuration, and nothing is now: a node that was staged
    before its join has a patch all the same, which goes with the last of the change."""
    if any(node.base != node.after for node in nodes):
        return PersistPlan()
    files = tuple(NodePatch(node.label, node.patch_now, "") for node in nodes)
    return PersistPlan(asked=True, before=text, after=text, nodes=files)


def _rendered(node: NodeFacts, target: RollbackTarget | None) -> Rendered | None:
    """A node's manifest after the rollback; of an open run nobody knows yet."""
    now = _patch_now(node)
    current = manifest_of(node)
    if target is None or target.plan is None:
        text = current.text if current is not None else ""
    else:
        text = target.plan.after
    after = read_manifest(text.encode(), node.label).manifest
    if after is None:
        return None
    if not after.is_patched:
        below = base_below(after, node)
        return Rendered(node.label, below.text if below is not None else text, text, now)
    named = after.annotations.get(BASE_ANNOTATION)
    for kept in (node.base, node.original):
        base = kept.decode("utf-8", "surrogateescape") if kept is not None else ""
        if base and base_hash(base) == named:
            return Rendered(node.label, base, text, now)
    return None


def _patch_now(node: NodeFacts) -> str:
    return (node.kubeadm_patch or b"").decode("utf-8", "replace")


def _api(fleet: Fleet) -> bool:
    return any(node.api_answers for node in fleet.facts)


def _refused(message: str) -> PersistPlan:
    return PersistPlan(asked=True, findings=(found("N095", message),))


def _behind(message: str) -> Finding:
    return found("N097", message, hint=_LATER)


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no answer"])[0][:300]
