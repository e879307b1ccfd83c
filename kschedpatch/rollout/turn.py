"""One node's part of a run: the verbs in their order, told as events, and how far it came."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import partial
from typing import TypeVar

from kschedpatch.cluster import room
from kschedpatch.cluster.kubectl import ApiRefused, Kubectl
from kschedpatch.model.events import Event, Listener, Phase, State
from kschedpatch.model.fleetplan import RUN_MARK, Canary
from kschedpatch.model.rollout import NodeOutcome, RolloutSettings
from kschedpatch.node import verbs
from kschedpatch.node.agent import Agent, VerbFailed
from kschedpatch.node.chain import Chain, Wanted
from kschedpatch.node.errors import NodeError, Stopped
from kschedpatch.rollout.bringing import Meter, NotBrought, Telling, bring_image, hold_image
from kschedpatch.rollout.cancel import Abandoned, Cancel
from kschedpatch.rollout.change import Change
from kschedpatch.rollout.failures import StepFailed, failure_of
from kschedpatch.rollout.fleet import Member

T = TypeVar("T")

#: Where a restored scheduler is looked at: it has proven itself before.
_SETTLE_AGAIN = 1.0
_PAUSE = 1.0


class Reached(IntEnum):
    NOTHING = 0
    LOCKED = 1
    ARMED = 2
    SWITCHED = 3
    PROVEN = 4
    CONFIRMED = 5


class Turn:
    def __init__(
        self,
        run: str,
        kind: str,
        member: Member,
        change: Change,
        settings: RolloutSettings,
        listener: Listener,
        cancel: Cancel,
    ) -> None:
        self.run = run
        self.kind = kind
        self.member = member
        self.change = change
        self.settings = settings
        self.listener = listener
        self.cancel = cancel
        self.reached = Reached.NOTHING
        self.outcome = NodeOutcome.UNCHANGED
        self.detail = ""
        self.seconds_to_proven: float | None = None
        self.seconds_to_restored: float | None = None
        self.buried = ""
        """Who was still named in the lease after his end."""
        self._switch_began = 0.0
        self._canary: Canary | None = None
        self._switching: Chain | None = None

    @property
    def label(self) -> str:
        return self.change.label

    @property
    def hostname(self) -> str:
        return self.change.hostname or self.change.node_name

    @contextmanager
    def _step(self, phase: Phase) -> Iterator[Callable[[str], None]]:
        """Tells the step's begin and end; what goes wrong leaves as a StepFailed."""
        self._tell(phase, State.STARTED)
        try:
            yield lambda text: self._tell(phase, State.PROGRESS, text)
        except Stopped:
            self.cancel.check()
            raise
        except (VerbFailed, NodeError, room.NoRoom, NotBrought) as error:
            failure = failure_of(self.label, phase, error)
            self._tell(phase, State.FAILED, failure.detail)
            raise StepFailed(failure) from error
        self._tell(phase, State.DONE)

    def _tell(self, phase: Phase, state: State, text: str = "") -> None:
        self.listener(Event(phase, state, self.label, text))

    def _sent(self, phase: Phase, text: str, sent: int, size: int) -> None:
        self.listener(Event(phase, State.PROGRESS, self.label, text, sent / max(size, 1)))

    # Forward. What may have happened counts as happened: a cut call has an unknown outcome.

    def lock(self) -> None:
        settings = self.settings
        with self._step(Phase.LOCK) as say:
            self.reached = Reached.LOCKED
            try:
                former = self.member.agent.lock(
                    self.run, self.kind, settings.who, settings.confirm_timeout
                )
            except VerbFailed:
                self.reached = Reached.NOTHING
                raise
            if former:
                say(f"took over from {former}, whose time is over; it had changed nothing")

    def bring(self) -> None:
        """The planned image, before anything else: a slow or failing registry costs nothing."""
        change = self.change
        if change.preflight is None:
            return
        with self._step(Phase.IMAGE) as say:
            if change.archive is not None or not change.image_is_there:
                bring_image(
                    self.member,
                    self.run,
                    change.preflight.image,
                    change.archive,
                    self.settings.pull_timeout,
                    self.cancel,
                    Telling(say, partial(self._sent, Phase.IMAGE)),
                )
            if self.kind == "apply" and change.image_before not in ("", change.preflight.image):
                hold_image(self.member, self.run, change.image_before, say)

    def stage(self) -> None:
        """And the trial run of what was staged: nothing has to be decided here in between."""
        change = self.change
        meters: dict[str, Meter] = {}

        def on_sent(name: str, sent: int, size: int) -> None:
            if name not in meters:
                meters[name] = Meter(name, 0, partial(self._sent, Phase.STAGE), self.cancel)
            meters[name](sent, size)

        agent, trial, full = self.member.agent, change.preflight, self.settings.preflight
        asked = [
            verbs.stage(
                self.run,
                change.after,
                change.patch_text,
                change.generation,
                on_sent,
                change.base,
                arms=change.before_sha256 != change.after_sha256,
            )
        ]
        if trial is not None:
            asked.append(verbs.preflight(self.run, trial, change.image_before, full=full))
        with self._step(Phase.STAGE) as say:
            chain = agent.begin(*asked)
            agent.answer(chain, say)
        if trial is None:
            return
        with self._step(Phase.PREFLIGHT) as say:
            how = verbs.how_tried(agent.answer(chain, say))
            if full and how == "none":
                say("no tool here can run the scheduler beforehand: this proof is left out")

    def arm(self) -> None:
        change = self.change
        with self._step(Phase.ARM):
            self.reached = Reached.ARMED
            self.member.agent.do(
                verbs.arm(
                    self.run,
                    change.before_sha256,
                    change.after_sha256,
                    change.patch_name,
                    self.settings.reason,
                )
            )

    def canary(self) -> None:
        """The new scheduler beside the live one, which is not touched until this one is proven."""
        planned = self.change.canary
        if not self.settings.canary:
            return
        if planned is None:
            self._tell(Phase.CANARY, State.SKIPPED, self.change.no_canary)
            return
        with self._step(Phase.CANARY) as say:
            self._check_room(planned, say)
            self._canary = planned
            marked = planned._replace(manifest=planned.manifest.replace(RUN_MARK, self.run))
            settings = self.settings
            self.member.agent.do(
                verbs.canary(
                    self.run, marked, settle=settings.settle, timeout=settings.watch_timeout
                ),
                say,
            )

    def _check_room(self, planned: Canary, say: Callable[[str], None]) -> None:
        """The canary asks for nothing, so it does not show whether the main pod will fit."""
        node, more = self.change.node_name, planned.more_requests
        try:
            room.check(Kubectl(self.member.agent), node, more)
        except (ApiRefused, VerbFailed, ValueError) as error:
            say(f"whether there is room for what the new pod asks for can't be told: {error}")

    def switch(self) -> None:
        """The node goes on to watch by itself."""
        change, agent = self.change, self.member.agent
        with self._step(Phase.SWITCH) as say:
            self.reached = Reached.SWITCHED
            self._switch_began = time.monotonic()
            self._switching = agent.begin(
                verbs.switch(
                    self.run,
                    change.health.port,
                    change.lease,
                    canary=self._canary,
                    in_place=change.in_place,
                ),
                *self.behind_switch(),
            )
            self.buried = verbs.buried(agent.answer(self._switching, say))

    def behind_switch(self) -> tuple[Wanted, ...]:
        watch = verbs.watch(
            self.run,
            self.change.health,
            canary=self._canary,
            lease=self.change.lease,
            settle=self.settings.settle,
            timeout=self.settings.watch_timeout,
        )
        return (watch,)

    def watch(self) -> None:
        with self._step(Phase.WATCH) as say:
            watch_began = time.monotonic()
            assert self._switching is not None  # noqa: S101  it comes before
            proof = verbs.proof(self.member.agent.answer(self._switching, say))
            self.buried = self.buried or proof.buried
            self.seconds_to_proven = watch_began - self._switch_began + proof.seconds
            self.reached = Reached.PROVEN

    def fallen(self) -> StepFailed | None:
        """Has the scheduler that was proven ended since? Whatever else is odd is not for now."""
        try:
            look = verbs.watch(self.run, self.change.health, settle=0, timeout=2)
            self.member.agent.do(look)
        except VerbFailed as error:
            if error.reason == "crash":
                failure = failure_of(self.label, Phase.PROBE, error)
                detail = f"it broke on its first pod: {failure.detail}"
                return StepFailed(failure._replace(detail=detail))
        except NodeError:
            return None  # whoever confirms meets it again
        return None

    def confirm(self, fresh: Agent | None) -> None:
        """Over a connection of its own; again where it is cut, for a confirm is one or none. What
        was changed in place needs none."""
        with self._step(Phase.CONFIRM):
            if not self.change.in_place:
                assert fresh is not None  # noqa: S101  it was made when the node was changed
                self._until_answered(fresh, lambda agent: agent.confirm(self.run))
            self.reached = Reached.CONFIRMED
            self.outcome = NodeOutcome.CHANGED

    def finish(self) -> None:
        with self._step(Phase.FINISH):
            self.member.agent.finish(self.run, "confirmed")

    def unlock(self) -> None:
        """Nothing was switched: everything that was prepared goes."""
        if self.reached is Reached.NOTHING:
            return
        with self._step(Phase.FINISH):
            if self.reached is Reached.ARMED:
                # One answer is enough: what can't be taken away now was never switched in.
                self._until_answered(
                    self.member.agent, lambda agent: agent.restore(self.run), until_done=False
                )
            else:
                self._until_answered(self.member.agent, lambda agent: agent.unlock(self.run))
        self.reached = Reached.NOTHING

    # Back.

    def restore(self) -> None:
        """Until the old scheduler is seen ready, or the node can't be reached any more."""
        began = time.monotonic()
        if self._switching is not None and self._switching.goes_on:
            self._switching.drop()  # nobody waits for this watch any more
        try:
            with self._step(Phase.RESTORE) as say:
                ended = self._until_answered(
                    self.member.agent, lambda agent: agent.restore(self.run, say)
                )
                if ended in ("confirmed", "foreign"):
                    self.outcome = NodeOutcome.NOT_RESTORED
                    self.detail = f"the node says: {ended}. Look at it: kschedpatch status"
                    return
                if ended == "unswitched":
                    self.outcome = NodeOutcome.UNCHANGED
                    return
                say("the old manifest is back, waiting for its scheduler")
                ready = verbs.watch(
                    self.run,
                    self.change.health_before,
                    old=True,
                    settle=_SETTLE_AGAIN,
                    timeout=self.settings.watch_timeout,
                )
                self._until_answered(self.member.agent, lambda agent: agent.do(ready, say))
                self.outcome = NodeOutcome.RESTORED
                # Not below zero: the nodes of a sandbox settle in less time than they say.
                self.seconds_to_restored = max(0.0, time.monotonic() - began - _SETTLE_AGAIN)
        except StepFailed as error:
            lost = isinstance(error.__cause__, NodeError)
            self.outcome = NodeOutcome.LEFT_TO_NODE if lost else NodeOutcome.NOT_RESTORED
            self.detail = error.failure.detail

    def _until_answered(
        self, agent: Agent, ask: Callable[[Agent], T], *, until_done: bool = True
    ) -> T:
        """Asks again over new connections until the dead man must have acted by himself."""
        deadline = time.monotonic() + self.settings.confirm_timeout + 30
        while True:
            if self.cancel.hard:
                raise Abandoned
            try:
                return ask(agent)
            except NodeError:
                if time.monotonic() > deadline:
                    raise
            except VerbFailed as error:
                again = until_done and error.reason == "restore"
                if not again or time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE)
            try:
                agent = self.member.reconnect()
            except NodeError:
                if time.monotonic() > deadline:
                    raise
