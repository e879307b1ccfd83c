"""The new scheduler of a Deployment runs once on a control-plane node, before anything is applied:
the same trial as for a static pod, with the files that its ConfigMap will hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kschedpatch.model.deploymentplan import DeploymentPlan
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.rollout import RolloutSettings
from kschedpatch.node import verbs
from kschedpatch.node.agent import Code, VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.rollout.bringing import NotBrought, Telling, bring_image
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.failures import StepFailed, failure_of
from kschedpatch.rollout.fleet import Member
from kschedpatch.rollout.heartbeat import Heartbeat
from kschedpatch.rollout.objects import Reach

_LEFT_OUT = "the scheduler was not tried beforehand"


def try_once(
    reach: Reach, run: str, plan: DeploymentPlan, settings: RolloutSettings, cancel: Cancel
) -> str:
    """Empty, or why the trial was left out. StepFailed where the scheduler refuses to start."""
    if not settings.preflight or plan.preflight is None:
        return ""
    member = _member(reach)
    if member is None:
        return f"{_LEFT_OUT}: that needs a control-plane node, and none is named"
    reach.listener(Event(Phase.PREFLIGHT, State.STARTED, member.label))

    def say(text: str) -> None:
        reach.listener(Event(Phase.PREFLIGHT, State.PROGRESS, member.label, text))

    telling = Telling(say, lambda *_: None)
    try:
        with _locked(member, run, settings):
            image = plan.preflight.image
            bring_image(member, run, image, None, settings.pull_timeout, cancel, telling)
            chain = member.agent.begin(
                verbs.stage(run, "", "", plan.generation),
                verbs.preflight(run, plan.preflight, "", full=True),
            )
            member.agent.answer(chain, say)
            how = verbs.how_tried(member.agent.answer(chain, say))
    except (VerbFailed, NodeError, NotBrought) as error:
        if isinstance(error, VerbFailed) and _is_verdict(error):
            failure = failure_of(member.label, Phase.PREFLIGHT, error)
            reach.listener(Event(Phase.PREFLIGHT, State.FAILED, member.label, failure.detail))
            raise StepFailed(failure) from error
        # A node may lack what the pod has (a pull secret, a lock that is free): the Deployment's
        # own roll-out is the proof then, with the old pods at work.
        words = str(error).splitlines()[0][:300]
        reach.listener(Event(Phase.PREFLIGHT, State.SKIPPED, member.label, words))
        return f"{_LEFT_OUT}: {words}"
    if how == "none":
        reach.listener(Event(Phase.PREFLIGHT, State.SKIPPED, member.label))
        return f"{_LEFT_OUT}: no tool on {member.label} can run it"
    reach.listener(Event(Phase.PREFLIGHT, State.DONE, member.label))
    return ""


def _member(reach: Reach) -> Member | None:
    answering = {node.label for node in reach.facts if node.api_answers}
    return next((member for member in reach.members if member.label in answering), None)


def _is_verdict(error: VerbFailed) -> bool:
    return error.verb == "preflight" and error.code == Code.BAD and error.reason != "image"


@contextmanager
def _locked(member: Member, run: str, settings: RolloutSettings) -> Iterator[None]:
    """What is staged for the trial goes with the lock."""
    member.agent.lock(run, "trial", settings.who, settings.confirm_timeout)
    heartbeat = Heartbeat(run, settings.confirm_timeout)
    heartbeat.start(member)
    try:
        yield
    finally:
        heartbeat.stop_all()
        with suppress(VerbFailed, NodeError):
            member.agent.unlock(run)
