"""The objects' part of a run: noted on the nodes, brought and waited for before the switch, put
back where the run fails, and what is no longer wanted taken away after the confirm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kschedpatch.cluster import objects
from kschedpatch.cluster.kubectl import UNANSWERED, Kubectl
from kschedpatch.cluster.waiting import NotReady, wait
from kschedpatch.core.objects import deciding, ledger, marks
from kschedpatch.model.clusterplan import (
    ACTS,
    Action,
    ClusterPlan,
    Entry,
    Key,
    ObjectChange,
    ObjectResult,
    Ref,
)
from kschedpatch.model.events import Event, Listener, Phase, State
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.rollout import Failure, FailureReason, RolloutSettings
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.failures import StepFailed, failure_of
from kschedpatch.rollout.fleet import Member, in_parallel
from kschedpatch.rollout.turn import Turn

_LOST = (NodeError, VerbFailed)


class Reach(Protocol):
    """A way to the API server, and the nodes that keep what is done, if there are any."""

    listener: Listener
    facts: tuple[NodeFacts, ...]

    @property
    def members(self) -> tuple[Member, ...]: ...
    def member(self, label: str) -> Member: ...
    def kubectl(self) -> Kubectl: ...


class ObjectsPart:
    def __init__(
        self,
        run: str,
        plan: ClusterPlan,
        fleet: Reach,
        turns: Sequence[Turn],
        settings: RolloutSettings,
        cancel: Cancel,
    ) -> None:
        self.run = run
        self.plan = plan
        self.fleet = fleet
        self.turns = turns
        self.settings = settings
        self.cancel = cancel
        self.ledger = ledger.opened(run, plan)
        self.results: list[ObjectResult] = []
        self.leftovers: tuple[str, ...] = ()
        self.notes: list[str] = []
        self._acting = [c for c in plan.brought if c.action in (Action.CREATE, Action.CHANGE)]
        self._is_noted = False

    def _kubectl(self) -> Kubectl:
        return self.fleet.kubectl()

    def _tell(self, state: State, text: str = "") -> None:
        self.fleet.listener(Event(Phase.OBJECTS, state, "", text))

    # Forward.

    def bring(self) -> None:
        """To its end: a half-applied list is put back like a whole one."""
        if self.plan.empty:
            return
        if self._acting or any(c.steps for c in self.plan.cleared):
            self._tell(State.STARTED)
        try:
            self._note(ledger.OPEN if self._is_open else ledger.SETTLED)
            self._clear()
            self._apply()
        except UNANSWERED as error:
            failure = failure_of(getattr(error, "label", ""), Phase.OBJECTS, error)
            self._tell(State.FAILED, failure.detail)
            raise StepFailed(failure) from error

    def bring_as_far_as_it_goes(self) -> None:
        """For a rollback, which nothing may stop. What was left behind goes after the manifests."""
        if self.plan.empty:
            return
        try:
            self._note(ledger.OPEN if self._is_open else ledger.SETTLED)
            if not self.plan.blind:
                self._apply()
        except UNANSWERED as error:
            titles = ", ".join(change.ref.title for change in self._acting)
            self.notes.append(f"objects may not be as that run had left them ({titles}): {error}")

    @property
    def _is_open(self) -> bool:
        return bool(self._acting or self.plan.removed)

    def _apply(self) -> None:
        """Kinds and namespaces must be there before what is made of them."""
        base = [c for c in self._acting if _is_base(c)]
        rest = [c for c in self._acting if not _is_base(c)]
        marks_left: dict[Key, str] = {}
        for wave in (base, rest):
            if wave:
                marks_left |= objects.applied(self._kubectl(), wave, self.plan.patch, self.run)
            kinds = [c.ref for c in wave if marks.is_definition(c.ref)]
            if kinds and rest:
                self._wait_for(kinds, lambda _: None)
        self._remember(marks_left)

    def _remember(self, footprints: dict[Key, str]) -> None:
        entries = tuple(
            entry._replace(footprint=footprints.get(entry.ref.key, entry.footprint))
            for entry in self.ledger.entries
        )
        self.ledger = self.ledger._replace(entries=entries)

    def wait(self) -> None:
        """Also for those that were there: the new scheduler needs them all."""
        waiting = [change.ref for change in self.plan.brought if change.action is not Action.LEFT]
        if not waiting:
            return
        self._wait_for(waiting, lambda text: self._tell(State.PROGRESS, text))
        count = len(self._acting)
        self._tell(State.DONE, f"{count} applied" if count else "all there and ready")

    def _wait_for(self, refs: Sequence[Ref], say: Callable[[str], None]) -> None:
        try:
            wait(self._kubectl(), refs, self.settings.objects_timeout, say, self.cancel.check)
        except NotReady as error:
            self._tell(State.FAILED, error.lines[0])
            detail = f"waited for {self.settings.objects_timeout:.0f} s (--objects-timeout)"
            failure = Failure(
                "", Phase.OBJECTS, FailureReason.OBJECTS, detail, lines=error.lines[:40]
            )
            raise StepFailed(failure) from error

    def _clear(self) -> None:
        """What earlier runs have left behind; then nobody has to know of them any more."""
        for clearing in self.plan.cleared:
            acted = objects.put_back(self._kubectl(), clearing.steps)
            self.results += acted.results
            if acted.left:
                self.leftovers += tuple(step.ref.title for step in acted.left)
                continue
            self._forget(clearing.run)

    def settle(self) -> None:
        """After the confirm. What can't be taken away now, the ledger keeps for later."""
        if self.plan.empty:
            return
        if self.plan.blind:
            waiting = [s for s in self.plan.steps if s.action in ACTS]
            self.leftovers = tuple(step.ref.title for step in waiting)
            return
        removed = self.plan.removed
        acted = objects.put_back(self._kubectl(), removed) if removed else objects.Acted(())
        self.results += [ObjectResult(c.ref.title, c.action, c.why) for c in self.plan.brought]
        self.results += acted.results
        self.leftovers += tuple(step.ref.title for step in acted.left)
        if acted.left:
            self.notes.append(f"not everything could be put in order: {acted.detail}")
        still = {step.ref.key for step in acted.left}
        entries = tuple(e for e in self.ledger.entries if e.body is not None or e.ref.key in still)
        self.ledger = self.ledger._replace(entries=entries)
        if not entries:
            self._forget(self.run)
        elif self._is_open:
            self._note_quietly(ledger.OPEN if still else ledger.SETTLED)

    def keep(self) -> None:
        """Some nodes stay with the new scheduler and some may not: nothing is taken away."""
        if self.plan.empty or not self._is_noted:
            return
        if not self.plan.blind:
            self.results += [ObjectResult(c.ref.title, c.action, c.why) for c in self.plan.brought]
        self.leftovers += tuple(s.ref.title for s in self.plan.removed if s.action in ACTS)
        self._note_quietly(ledger.OPEN if self.plan.removed else ledger.SETTLED)

    # Back.

    def undo(self) -> None:
        """To what was there before this run; a definition stays, and is named."""
        if not self._is_noted:
            return
        self.results.clear()
        acted = self._put_back()
        self.results += [r for r in acted.results if r.action in (Action.STAYS, Action.LEFT)]
        self.leftovers += tuple(step.ref.title for step in acted.left)
        if acted.left:
            still = {step.ref.key for step in acted.left}
            entries = tuple(entry for entry in self.ledger.entries if entry.ref.key in still)
            self.ledger = self.ledger._replace(entries=entries)
            self._note_quietly(ledger.OPEN)
        else:
            self._forget(self.run)

    def _put_back(self) -> objects.Acted:
        if not self._acting:
            return objects.Acted(())
        entries = self._touched()
        try:
            seen = objects.look(self._kubectl(), (entry.ref for entry in entries))
            steps = deciding.undone(self.ledger, seen)
            return objects.put_back(self._kubectl(), steps, spare_strangers=False)
        except UNANSWERED as error:
            self.notes.append(f"the objects could not be put back: {error}")
            steps = tuple(ObjectChange(Action.DELETE, entry.ref, None) for entry in entries)
            return objects.Acted((), steps)

    def _touched(self) -> tuple[Entry, ...]:
        keys = {change.ref.key for change in self._acting}
        return tuple(entry for entry in self.ledger.entries if entry.ref.key in keys)

    def abandoned(self) -> None:
        if self._is_noted:
            self.leftovers += tuple(change.ref.title for change in self._acting)

    # On the nodes.

    def _note(self, state: str) -> None:
        body = ledger.encode(self.ledger)

        def one(turn: Turn) -> Exception | None:
            change = turn.change
            about = (
                ("old", change.before_sha256),
                ("new", change.after_sha256),
                ("patch", change.patch_name),
                ("reason", self.settings.reason),
            )
            try:
                turn.member.agent.note(self.run, state, body, about)
            except _LOST as error:
                return error
            return None

        self._is_noted = True
        for error in in_parallel(one, self.turns):
            if error is not None:
                raise error

    def _note_quietly(self, state: str) -> None:
        try:
            self._note(state)
        except _LOST as error:
            self.notes.append(f"a node does not keep what became of the objects: {error}")

    def _forget(self, run: str) -> None:
        """Of every node that can be reached; elsewhere it is old news by its run's id."""
        keepers = {*ledger.keepers(self.fleet.facts, run), *(t.label for t in self.turns)}

        def one(label: str) -> None:
            try:
                self.fleet.member(label).agent.note(run, ledger.GONE)
            except _LOST as error:
                self.notes.append(f"{label} still keeps run {run}'s ledger: {error}")

        in_parallel(one, [m.label for m in self.fleet.members if m.label in keepers])

    def clear_afterwards(self) -> None:
        """For a rollback: runs that it has ended have left their objects."""
        if not self.plan.blind:
            self._clear()


def _is_base(change: ObjectChange) -> bool:
    return marks.is_definition(change.ref) or marks.is_namespace(change.ref)
