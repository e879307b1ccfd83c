"""`apply --stage-only`: a node that will join the control plane gets what its scheduler needs on
disk. kubeadm renders its manifest when it joins; nothing runs there before, and nothing is live."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from kschedpatch.cluster import kubeadmconfig
from kschedpatch.cluster.kubectl import UNANSWERED
from kschedpatch.core.fleet.bringing import archive_for
from kschedpatch.core.fleet.runids import new_run_id
from kschedpatch.core.kubeadm.keeping import UnreadableRecord
from kschedpatch.core.kubeadm.planning import Rendered, plan_persist
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.model.codes import found
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding
from kschedpatch.model.fleetplan import FleetPlan, NodePlan
from kschedpatch.model.images import ImageArchive
from kschedpatch.model.persistplan import PersistPlan
from kschedpatch.model.rollout import RolloutSettings
from kschedpatch.node import verbs
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.node.persisting import persist
from kschedpatch.rollout.bringing import NotBrought, Telling, bring_image
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.heartbeat import Heartbeat


class Joining(NamedTuple):
    """What is brought to nodes that will join, by the model of one that is there."""

    model: NodePlan
    patch: str
    """For kubeadm's patches directory."""
    nodes: tuple[tuple[str, ImageArchive | None], ...]
    findings: tuple[Finding, ...]


class Staged(NamedTuple):
    node: str
    problem: str = ""


def plan_joining(
    fleet: Fleet, given: PatchInput, plan: FleetPlan, new: Sequence[NodeFacts]
) -> Joining:
    """``plan`` is that of the nodes that have a scheduler; one of them is the model."""
    model = plan.nodes[0]
    told: list[Finding] = []
    made = PersistPlan()
    try:
        there = kubeadmconfig.find(fleet.kubectl())
        rendered = Rendered(model.label, model.base, model.after, "")
        made = plan_persist([rendered], plan.patch_name, there.text, there.kept)
        told += made.findings
        if not made.findings and (made.before != made.after or there.kept is None):
            message = "kubeadm's configuration does not hold this patch: a node that joins lacks it"
            told.append(found("N099", message, hint="kschedpatch apply --persist on the others"))
    except UNANSWERED as error:
        told.append(found("N095", (str(error).splitlines() or ["no answer"])[0][:300]))
    except UnreadableRecord as error:
        told.append(found("N095", str(error)))
    patch = made.nodes[0].after if made.nodes else ""
    nodes = tuple((node.label, archive_for(given.archive, node)) for node in new)
    return Joining(model, patch, nodes, tuple(told))


def stage_joining(
    fleet: Fleet, joining: Joining, settings: RolloutSettings, cancel: Cancel
) -> tuple[Staged, ...]:
    run = new_run_id(time.time(), secrets.randbits(16))
    with cancel.by_signals():
        return tuple(
            _stage(fleet, run, label, archive, joining, settings, cancel)
            for label, archive in joining.nodes
        )


def _stage(
    fleet: Fleet,
    run: str,
    label: str,
    archive: ImageArchive | None,
    joining: Joining,
    settings: RolloutSettings,
    cancel: Cancel,
) -> Staged:
    member = fleet.member(label)
    tell = partial(_tell, fleet, label)
    telling = Telling(tell, lambda text, *_: tell(text))
    heartbeat = Heartbeat(run, settings.confirm_timeout)
    fleet.listener(Event(Phase.STAGE, State.STARTED, label))
    try:
        member.agent.lock(run, "stage", settings.who, settings.confirm_timeout)
        heartbeat.start(member)
        image, timeout = joining.model.preflight.image, settings.pull_timeout
        bring_image(member, run, image, archive, timeout, cancel, telling)
        member.agent.do(verbs.stage(run, "", "", joining.model.generation), tell)
        # By the generation that it names, the files stay.
        persist(member.agent, run, joining.patch)
    except (VerbFailed, NodeError, NotBrought) as error:
        words = str(error).splitlines()[0][:300]
        fleet.listener(Event(Phase.STAGE, State.FAILED, label, words))
        return Staged(label, words)
    finally:
        heartbeat.stop_all()
        with suppress(VerbFailed, NodeError):
            member.agent.unlock(run)
    fleet.listener(Event(Phase.STAGE, State.DONE, label))
    return Staged(label)


def _tell(fleet: Fleet, label: str, text: str) -> None:
    fleet.listener(Event(Phase.STAGE, State.PROGRESS, label, text))
