"""A run on a scheduler's Deployment: what it needs comes first, then the Deployment itself, watched
until it is proven. What fails goes back to the former revision, and is seen ready with it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kschedpatch.cluster import deployments
from kschedpatch.cluster.deploymentwatch import Limits, RolloutFailed, Watch
from kschedpatch.cluster.kubectl import UNANSWERED, ApiRefused, Kubectl
from kschedpatch.cluster.probe import ProbeFailed
from kschedpatch.core.deployment import records
from kschedpatch.core.fleet.runids import new_run_id
from kschedpatch.core.objects import marks
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.model import exitcodes
from kschedpatch.model.clusterplan import ACTS, Object
from kschedpatch.model.deploymentplan import DeploymentPlan
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.rollout import (
    Failure,
    FailureReason,
    NodeOutcome,
    NodeResult,
    RolloutResult,
    RolloutSettings,
)
from kschedpatch.rollout.cancel import Abandoned, Cancel, Cancelled
from kschedpatch.rollout.deploymentlook import DeploymentLook
from kschedpatch.rollout.deploymentproof import (
    check_rights,
    rights_asked,
    send_pods,
    send_probe,
)
from kschedpatch.rollout.deploymentrecord import RunRecord
from kschedpatch.rollout.deploymentstate import DeploymentState
from kschedpatch.rollout.deploymenttrial import try_once
from kschedpatch.rollout.failures import StepFailed, failure_of
from kschedpatch.rollout.objects import ObjectsPart, Reach


def roll_out_deployment(
    reach: Reach,
    look: DeploymentLook,
    given: PatchInput,
    settings: RolloutSettings,
    cancel: Cancel,
) -> RolloutResult:
    with cancel.by_signals():
        return DeploymentRun("apply", reach, look, settings, cancel, given).execute()


def roll_back_deployment(
    reach: Reach, look: DeploymentLook, settings: RolloutSettings, cancel: Cancel
) -> RolloutResult:
    with cancel.by_signals():
        return DeploymentRun("rollback", reach, look, settings, cancel).execute()


class DeploymentRun:
    def __init__(
        self,
        kind: str,
        reach: Reach,
        look: DeploymentLook,
        settings: RolloutSettings,
        cancel: Cancel,
        given: PatchInput | None = None,
    ) -> None:
        assert look.change is not None  # noqa: S101  nothing is run that could not be planned
        self.run = new_run_id(time.time(), secrets.randbits(16))
        self.kind, self.reach, self.look = kind, reach, look
        self.settings, self.cancel, self.given = settings, cancel, given
        self.target, self.plan, self.change = look.target, look.plan, look.change
        self.kubectl: Kubectl = reach.kubectl()
        self.objects = ObjectsPart(self.run, look.cluster, reach, (), settings, cancel)
        self.state = DeploymentState(self.kubectl, self.target)
        self.watch = Watch(self.kubectl, self.target, self._progress, self.cancel.check)
        self.limits = Limits(settings.watch_timeout, settings.pull_timeout, settings.settle)
        self.record = RunRecord(
            self.run, kind, self.kubectl, look, self.change, self.objects.ledger, settings
        )
        self.after: Object | None = None
        self.outcome = NodeOutcome.UNCHANGED
        self.failure: Failure | None = None
        self.notes: list[str] = []
        self.seconds_to_proven: float | None = None
        self.seconds_to_restored: float | None = None
        self.detail = ""
        self._switched = False
        self._phase = Phase.WATCH

    def execute(self) -> RolloutResult:
        try:
            code = self._forward()
        except Abandoned:
            code = self._abandoned()
        result = NodeResult(
            self.target.title,
            "",
            self.outcome,
            self.seconds_to_proven,
            self.seconds_to_restored,
            self.detail,
        )
        return RolloutResult(
            run=self.run,
            kind=self.kind,
            exit_code=code,
            nodes=(result,),
            failure=self.failure,
            leftovers=self.objects.leftovers,
            notes=(*self.notes, *self.objects.notes),
            objects=tuple(self.objects.results),
            deployment=str(self.target),
        )

    def _forward(self) -> int:
        try:
            self._do(self._begin, to_its_end=True)
            if self.kind == "apply":
                self._prepare()
            else:
                self._do(self.objects.bring_as_far_as_it_goes, to_its_end=True)
            if self.change.action in ACTS:
                self._do(self._switch, to_its_end=True)
                self._do(self._prove)
        except StepFailed as error:
            self.failure = error.failure
            return self._back()
        except Cancelled:
            told = "stopped on request"
            self.failure = Failure("", Phase.RESTORE, FailureReason.INTERRUPTED, told)
            code = self._back()
            return code if code == exitcodes.NOT_RESTORED else exitcodes.INTERRUPTED
        self._confirm()
        return exitcodes.OK

    def _do(self, step: Callable[[], None], *, to_its_end: bool = False) -> None:
        self.cancel.check()
        self.cancel.run(step, to_its_end=to_its_end)

    # What is told.

    def _tell(self, phase: Phase, state: State, text: str = "") -> None:
        self.reach.listener(Event(phase, state, self.target.title, text))

    def _progress(self, text: str) -> None:
        self._tell(self._phase, State.PROGRESS, text)

    @contextmanager
    def _step(self, phase: Phase) -> Iterator[None]:
        self._phase = phase
        self._tell(phase, State.STARTED)
        try:
            yield
        except (*UNANSWERED, RolloutFailed, ProbeFailed, deployments.Locked) as error:
            failure = _failure(self.target.title, phase, error)
            self._tell(phase, State.FAILED, failure.detail)
            raise StepFailed(failure) from error
        self._tell(phase, State.DONE)

    # Forward.

    def _begin(self) -> None:
        with self._step(Phase.LOCK):
            self.record.begin()

    def _prepare(self) -> None:
        assert self.plan is not None  # noqa: S101  apply has one
        if self.change.action in ACTS:
            left_out = try_once(self.reach, self.run, self.plan, self.settings, self.cancel)
            self.notes += [left_out] if left_out else []
        self._do(self.objects.bring, to_its_end=True)
        self._do(self.objects.wait)
        self._do(self._rights)

    def _rights(self) -> None:
        assert self.plan is not None  # noqa: S101  apply has both
        assert self.given is not None  # noqa: S101
        asked = rights_asked(self.given, self.plan)
        if asked:
            with self._step(Phase.RIGHTS):
                check_rights(self.kubectl, self.plan, asked, self.cancel.check)

    def _switch(self) -> None:
        with self._step(Phase.SWITCH):
            self.state.check_planned(self.state.live(), self.look.live)
            self._switched = True  # what may have happened counts as happened
            if self.plan is not None:
                self.after = self._apply(self.plan.document, self.plan.patch_name)
            else:
                self.after = self._put()

    def _put(self) -> Object | None:
        try:
            return self.state.put(self.look.live, self.change.body)
        except (ApiRefused, RolloutFailed):
            self._switched = False
            raise

    def _apply(self, document: Object, patch: str) -> Object:
        origin = marks.CREATED if self.change.original is None else marks.ADOPTED
        body = marks.marked(document, patch, self.run, origin)
        try:
            return deployments.apply_deployment(self.kubectl, body, self.look.allowed)
        except ApiRefused:
            self._switched = False
            raise

    def _prove(self) -> None:
        if self.after is None:
            return
        began = time.monotonic()
        with self._step(Phase.WATCH):
            ready = self.watch.until_ready(self.limits)
            self.after = ready.deployment
            if self.plan is not None and self.plan.lease:
                self.watch.until_leading(self.plan.lease, alone=self.target.is_new)
        self.seconds_to_proven = time.monotonic() - began
        if self.plan is not None:
            self._probe(self.plan)

    def _probe(self, plan: DeploymentPlan) -> None:
        if not self.settings.probe or not plan.profiles:
            return
        with self._step(Phase.PROBE):
            answered, notes = send_probe(self.kubectl, self.run, plan, self.watch)
            self.notes += notes
            if answered and self.settings.probe_pods and self.given is not None:
                self.notes += send_pods(
                    self.kubectl, self.given, plan, self._progress, self.cancel.check
                )

    def _confirm(self) -> None:
        self.objects.settle()
        acted = self.change.action in ACTS
        self.outcome = NodeOutcome.CHANGED if acted else NodeOutcome.UNCHANGED
        live = self.after if acted else self.look.live
        self._end(records.CONFIRMED, marks.as_given(live) if live is not None else None)

    def _end(self, outcome: str, after: Object | None = None) -> None:
        problem = self.record.end(outcome, self.objects.ledger, after)
        self.notes += [problem] if problem else []

    # Back.

    def _back(self) -> int:
        restored = True
        if self._switched:
            restored = self._restored()
        if self.kind == "rollback" and not restored:
            self.objects.keep()
        elif restored:
            self.objects.undo()
        else:
            self.objects.abandoned()
        self._end(records.RESTORED if restored else records.OPEN)
        if not restored:
            return exitcodes.NOT_RESTORED
        return exitcodes.ROLLED_BACK if self._switched else exitcodes.REFUSED

    def _restored(self) -> bool:
        """To what it was right before this run; proven in the same way."""
        began = time.monotonic()
        watch = Watch(self.kubectl, self.target, self._progress, self._unless_hard)
        self._phase = Phase.RESTORE
        self._tell(Phase.RESTORE, State.STARTED)
        try:
            self.state.put_back(self.change.live, self.after)
            if self.change.live is not None:
                watch.until_ready(self.limits)
        except (*UNANSWERED, RolloutFailed) as error:
            self.outcome, self.detail = NodeOutcome.NOT_RESTORED, str(error).splitlines()[0]
            self._tell(Phase.RESTORE, State.FAILED, self.detail)
            return False
        self.outcome = NodeOutcome.RESTORED
        self.seconds_to_restored = time.monotonic() - began
        self._tell(Phase.RESTORE, State.DONE)
        return True

    def _unless_hard(self) -> None:
        if self.cancel.hard:
            raise Abandoned

    def _abandoned(self) -> int:
        if self._switched and self.outcome is NodeOutcome.UNCHANGED:
            self.outcome = NodeOutcome.UNPROVEN
            self.detail = "Kubernetes goes on with it; the old pods stay until a new one is ready"
        told = "stopped on request, twice"
        self.failure = self.failure or Failure("", Phase.RESTORE, FailureReason.INTERRUPTED, told)
        self.objects.abandoned()
        return exitcodes.INTERRUPTED


def _failure(label: str, phase: Phase, error: Exception) -> Failure:
    if isinstance(error, RolloutFailed):
        return Failure(label, phase, error.reason, error.detail, error.log, (), error.lines)
    if isinstance(error, ProbeFailed):
        return Failure(label, phase, FailureReason.PROBE, str(error))
    if isinstance(error, deployments.Locked):
        return Failure(label, phase, FailureReason.LOCKED, str(error))
    return failure_of(label, phase, error)
