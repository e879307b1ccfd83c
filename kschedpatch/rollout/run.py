"""A run over all nodes: everybody is locked, staged and tried first, then changed one by one, and
confirmed together. The first failure turns it around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from kschedpatch.cluster import lease
from kschedpatch.cluster.kubectl import Kubectl
from kschedpatch.cluster.probe import ProbeFailed, probe
from kschedpatch.model import exitcodes
from kschedpatch.model.clusterplan import ClusterPlan
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.persistplan import PersistPlan
from kschedpatch.model.rollout import (
    Failure,
    FailureReason,
    NodeOutcome,
    NodeResult,
    OnFailure,
    RolloutResult,
    RolloutSettings,
)
from kschedpatch.node.errors import NodeError
from kschedpatch.rollout.cancel import Abandoned, Cancel, Cancelled
from kschedpatch.rollout.change import Change
from kschedpatch.rollout.failures import StepFailed
from kschedpatch.rollout.fleet import Fleet, in_parallel
from kschedpatch.rollout.freshways import FreshWays
from kschedpatch.rollout.heartbeat import Heartbeat
from kschedpatch.rollout.objects import ObjectsPart
from kschedpatch.rollout.persisting import PersistPart
from kschedpatch.rollout.podprobe import PodProbe, send_through
from kschedpatch.rollout.turn import Reached, Turn


class Run:
    def __init__(
        self,
        run: str,
        kind: str,
        fleet: Fleet,
        changes: Sequence[Change],
        settings: RolloutSettings,
        cancel: Cancel,
        *,
        cluster: ClusterPlan | None = None,
        probed_scheduler: str | None = None,
        pods: PodProbe | None = None,
        persist: PersistPlan | None = None,
    ) -> None:
        self.run = run
        self.kind = kind
        self.fleet = fleet
        self.settings = settings
        self.cancel = cancel
        self.listener = fleet.listener
        self.probed_scheduler = probed_scheduler
        self.pods = pods
        self.turns = [
            Turn(run, kind, fleet.member(c.label), c, settings, fleet.listener, cancel)
            for c in changes
        ]
        self.heartbeat = Heartbeat(run, settings.confirm_timeout)
        self.fresh = FreshWays(run)
        self.failure: Failure | None = None
        self.notes: list[str] = []
        plan = cluster or ClusterPlan()
        self.objects = ObjectsPart(run, plan, fleet, self.turns, settings, cancel)
        members = [turn.member for turn in self.turns]
        self.persist = PersistPart(run, persist or PersistPlan(), fleet, members, settings)

    def execute(self) -> RolloutResult:
        try:
            code = self._forward()
        except Abandoned:
            code = self._abandoned()
        finally:
            self.heartbeat.stop_all()
            self.fresh.close()
        return RolloutResult(
            run=self.run,
            kind=self.kind,
            exit_code=code,
            nodes=tuple(_result(turn) for turn in self.turns),
            failure=self.failure,
            leftovers=self.objects.leftovers,
            notes=(*self.notes, *self.objects.notes, *self.persist.notes),
            objects=tuple(self.objects.results),
        )

    def _forward(self) -> int:
        try:
            self._prepare()
            if self.changes_nodes:
                self._prove()
                self._change_all()
                self._probe()
            self._persist()
            if self.changes_nodes:
                self._confirm_all()
        except StepFailed as error:
            self.failure = error.failure
            return self._back()
        except Cancelled:
            self.failure = Failure(
                "", Phase.RESTORE, FailureReason.INTERRUPTED, "stopped on request"
            )
            # 130 says that everything is as before: not so where a node was lost on the way back.
            code = self._back()
            return code if code == exitcodes.NOT_RESTORED else exitcodes.INTERRUPTED
        self.objects.settle()
        in_parallel(_finished, self.turns)
        return exitcodes.OK

    @property
    def changes_nodes(self) -> bool:
        """Otherwise only objects of the cluster: the nodes are locked, and keep what is done."""
        return any(t.change.before_sha256 != t.change.after_sha256 for t in self.turns)

    # Forward.

    def _prepare(self) -> None:
        # Of two operators with the same nodes, one gets the first lock, and with it all of them.
        # With other nodes both may be refused; nothing was touched then.
        ordered = sorted(self.turns, key=lambda t: t.change.machine_id)
        for some in (ordered[:1], ordered[1:]):
            self._everywhere(self._lock, some, to_its_end=True)
        self._everywhere(Turn.bring)
        self._everywhere(Turn.stage)
        self._bring_objects()

    def _do(self, step: Callable[[], None], *, to_its_end: bool = False) -> None:
        self.cancel.check()
        for label, said in self.heartbeat.lost().items():
            detail = f"the node has ended the run by itself: {said}"
            raise StepFailed(Failure(label, Phase.WATCH, FailureReason.TOO_LATE, detail))
        self.cancel.run(step, to_its_end=to_its_end)

    def _lock(self, turn: Turn) -> None:
        turn.lock()
        self.heartbeat.start(turn.member)

    def _everywhere(
        self,
        step: Callable[[Turn], None],
        turns: Sequence[Turn] | None = None,
        *,
        to_its_end: bool = False,
    ) -> None:
        def one(turn: Turn) -> StepFailed | None:
            try:
                step(turn)
            except StepFailed as error:
                return error
            return None

        def every() -> None:
            for error in in_parallel(one, self.turns if turns is None else turns):
                if error is not None:
                    raise error

        self._do(every, to_its_end=to_its_end)

    def _kubectl(self) -> Kubectl:
        return self.fleet.kubectl()

    def _bring_objects(self) -> None:
        if self.kind == "rollback":
            self._do(self.objects.bring_as_far_as_it_goes, to_its_end=True)
            return
        self._do(self.objects.bring, to_its_end=True)
        self._do(self.objects.wait)

    def _prove(self) -> None:
        """Canaries on all nodes before the first is switched: what fails on any of them has touched
        nothing live. Whoever takes them away again must be there before them."""
        self._everywhere(Turn.arm, to_its_end=True)
        self._everywhere(Turn.canary)

    def _change_all(self) -> None:
        for turn in self.turns:
            self._do(turn.switch, to_its_end=True)
            self._do(turn.watch)
            if not turn.change.in_place:
                self.fresh.begin(turn.member)
            if turn.buried:
                said = f"the lease still named {turn.buried}, which had ended; it was emptied"
                self.notes.append(said)

    def _probe(self) -> None:
        if not self.settings.probe or self.probed_scheduler is None or not self.turns:
            return
        name = self.probed_scheduler
        self.listener(Event(Phase.PROBE, State.STARTED))

        def ask() -> None:
            try:
                said = probe(self._kubectl(), self.run, name, self._still_stand)
                if said.answered:
                    self._send_pods()
            except ProbeFailed as error:
                self.listener(Event(Phase.PROBE, State.FAILED, "", str(error)))
                failure = Failure("", Phase.PROBE, FailureReason.PROBE, str(error))
                raise StepFailed(failure) from error
            self.notes += self._judged_by_others() if said.answered else ()
            state = State.DONE if said.answered else State.SKIPPED
            if not said.answered:
                self.notes.append(f"the probe was left out: {said.detail}")
            self.listener(Event(Phase.PROBE, state, "", said.detail))

        # Pods that run have to be deleted before anything else happens.
        self._do(ask, to_its_end=self.pods is not None)

    def _send_pods(self) -> None:
        if self.pods is None:
            return

        def say(text: str) -> None:
            self.listener(Event(Phase.PROBE, State.PROGRESS, "", text))

        ways = [Kubectl(turn.member.agent) for turn in self.turns]
        hosts = [name for turn in self.turns for name in (turn.hostname, turn.change.node_name)]
        self.notes += send_through(self.pods, ways, hosts, say, self.cancel.check)

    def _still_stand(self) -> None:
        for error in in_parallel(Turn.fallen, self.turns):
            if error is not None:
                self.listener(Event(Phase.PROBE, State.FAILED, "", error.failure.detail))
                raise error

    def _judged_by_others(self) -> list[str]:
        """With ``--partial`` the leader may be a scheduler that nobody has changed."""
        changed = {turn.change.node_name for turn in self.turns}
        known = {node.name for facts in self.fleet.facts for node in facts.control_plane}
        if known and known <= changed:
            return []
        leader = lease.leader(self._kubectl(), self.turns[0].change.lease)
        if not leader or leader in {turn.hostname for turn in self.turns}:
            return []
        return [f"{leader} leads, which was left out: the probe says nothing of the new scheduler"]

    def _persist(self) -> None:
        if self.kind == "rollback":
            self._do(self.persist.put_as_far_as_it_goes, to_its_end=True)
        else:
            self._do(self.persist.put, to_its_end=True)

    def _confirm_all(self) -> None:
        """Every node has said that it stands, over a fresh connection, before the first of them
        is confirmed."""
        agents = self.cancel.run(self.fresh.over_which_all_stand)
        self.cancel.check()  # the last moment at which it can be stopped
        for turn in self.turns:
            turn.confirm(agents.get(turn.label))

    # Back.

    def _back(self) -> int:
        """Every node that was changed gets its old manifest back, and is seen ready with it."""
        touched = [t for t in self.turns if t.reached >= Reached.SWITCHED]
        kept = [t for t in touched if t.reached is Reached.CONFIRMED]
        failed = self.failure.node if self.failure else ""
        policy = self.settings.on_failure
        for turn in reversed(touched):
            if turn in kept:
                continue
            # Before the way back: a renewal would take back the word that the time is over.
            self.heartbeat.stop(turn.label)
            proven = turn.reached is Reached.PROVEN and turn.label != failed
            if policy is not OnFailure.ROLLBACK_ALL and proven and not self.cancel.requested:
                self._keep(turn)
            elif policy is OnFailure.STOP and not self.cancel.requested:
                turn.outcome = NodeOutcome.LEFT_TO_NODE
                turn.detail = f"the dead man restores it within {self.settings.confirm_timeout} s"
            else:
                turn.restore()
                lease.empty_if_dead(self._kubectl(), turn.change.lease, turn.hostname)
        for turn in self.turns:
            if turn.reached < Reached.SWITCHED:
                self.heartbeat.stop(turn.label)
                with suppress(StepFailed):
                    turn.unlock()
        bad = (NodeOutcome.NOT_RESTORED, NodeOutcome.LEFT_TO_NODE)
        # A rollback that could not be seen through may well stand: then the ledgers decide later.
        stands = bad if self.kind == "rollback" else ()
        if any(t.outcome in (NodeOutcome.CHANGED, *stands) for t in self.turns):
            self.objects.keep()
        else:
            self.persist.undo()
            self.objects.undo()
        if kept:
            names = ", ".join(t.label for t in kept)
            self.notes.append(
                f"{names}: already confirmed when another node failed. The cluster is mixed: "
                "close it with another apply, or with rollback"
            )
        if any(t.outcome in bad for t in self.turns) or kept:
            return exitcodes.NOT_RESTORED
        # A switch that was refused, or did not begin, has left the node as it was.
        changed = any(t.outcome is not NodeOutcome.UNCHANGED for t in touched)
        return exitcodes.ROLLED_BACK if changed else exitcodes.REFUSED

    def _keep(self, turn: Turn) -> None:
        try:
            agent = None
            if not turn.change.in_place:
                self.fresh.begin(turn.member)
                agent = self.fresh.over_which_stands(turn.label)
            turn.confirm(agent)
            turn.finish()
        except (StepFailed, NodeError):
            turn.restore()

    def _abandoned(self) -> int:
        for turn in self.turns:
            if turn.reached in (Reached.ARMED, Reached.SWITCHED, Reached.PROVEN) and (
                turn.outcome is not NodeOutcome.RESTORED
            ):
                turn.outcome = NodeOutcome.LEFT_TO_NODE
                turn.detail = (
                    f"the node restores itself within {self.settings.confirm_timeout} s; "
                    "see it with: kschedpatch status"
                )
        self.failure = self.failure or Failure(
            "", Phase.RESTORE, FailureReason.INTERRUPTED, "stopped on request, twice"
        )
        self.objects.abandoned()
        return exitcodes.INTERRUPTED


def _finished(turn: Turn) -> None:
    # Confirmed is confirmed: what is left to tidy up, the dead man does if need be.
    with suppress(StepFailed):
        turn.finish()


def _result(turn: Turn) -> NodeResult:
    return NodeResult(
        turn.label,
        turn.change.node_name,
        turn.outcome,
        turn.seconds_to_proven,
        turn.seconds_to_restored,
        turn.detail,
    )
