"""The part of a run that kubeadm will see one day: its configuration in the cluster, and the
patches on the nodes. It comes when the new scheduler is proven, so that whatever kubeadm renders
from it works; and it goes back with the rest."""

from __future__ import annotations

from collections.abc import Iterable

from kschedpatch.cluster.kubectl import UNANSWERED
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.persistplan import Kept, PersistPlan
from kschedpatch.model.rollout import Failure, FailureReason, RolloutSettings
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.node.persisting import persist
from kschedpatch.rollout.failures import StepFailed
from kschedpatch.rollout.fleet import Fleet, Member

PATCHES = "/etc/kubernetes/kschedpatch/kubeadm-patches"


class PersistPart:
    def __init__(
        self,
        run: str,
        plan: PersistPlan,
        fleet: Fleet,
        locked: Iterable[Member],
        settings: RolloutSettings,
    ) -> None:
        self.run, self.plan, self.fleet, self.settings = run, plan, fleet, settings
        self.locked = {member.label for member in locked}
        self.notes: list[str] = []
        self._config_put = False
        self._files_put: list[str] = []

    def put(self) -> None:
        """StepFailed where something of it can't be done; what was done is for ``undo``."""
        if not self.plan.changed:
            return
        self.fleet.listener(Event(Phase.PERSIST, State.STARTED))
        problem = self._put()
        if problem:
            self.fleet.listener(Event(Phase.PERSIST, State.FAILED, "", problem))
            failure = Failure("", Phase.PERSIST, FailureReason.OBJECTS, problem)
            raise StepFailed(failure)
        self.fleet.listener(Event(Phase.PERSIST, State.DONE))
        self.notes += self._told()

    def put_as_far_as_it_goes(self) -> None:
        """A rollback is not stopped by it."""
        if not self.plan.changed:
            return
        problem = self._put()
        if problem:
            self.notes.append(
                f"kubeadm's part is not in step: {problem}. Until rollback is run again, kubeadm "
                "may render a patch that is not wanted any more"
            )

    def undo(self) -> None:
        """As far as it goes; what is left is told."""
        problems = []
        if self._files_put:
            before = {node.label: node.before for node in self.plan.nodes}
            problems += self._write((label, before[label]) for label in self._files_put)
        if self._config_put:
            problems += self._exchange(self.plan.kept)
        if problems:
            self.notes.append(f"kubeadm's part could not be put back: {'; '.join(problems)}")

    def _put(self) -> str:
        wanted = self.plan.wanted
        mine = wanted._replace(run=self.run) if wanted is not None else None
        self._config_put = True  # what may have happened counts as happened
        problems = self._exchange(mine)
        if not problems:
            changed = [node for node in self.plan.nodes if node.before != node.after]
            self._files_put = [node.label for node in changed]
            problems = self._write((node.label, node.after) for node in changed)
        return "; ".join(problems)

    def _exchange(self, wanted: Kept | None) -> list[str]:
        # Most runs leave kubeadm's configuration alone, and what reads it is heavy.
        from kschedpatch.cluster import kubeadmconfig  # noqa: PLC0415
        from kschedpatch.core.kubeadm.clusterconfig import (  # noqa: PLC0415
            UnreadableConfiguration,
        )
        from kschedpatch.core.kubeadm.keeping import UnreadableRecord  # noqa: PLC0415

        try:
            kubeadmconfig.exchange(self.fleet.kubectl(), wanted)
        except (*UNANSWERED, UnreadableConfiguration, UnreadableRecord) as error:
            words = (str(error).strip().splitlines() or ["no answer"])[0][:300]
            return [f"ConfigMap kube-system/kubeadm-config: {words}"]
        return []

    def _write(self, files: Iterable[tuple[str, str]]) -> list[str]:
        problems = []
        for label, text in files:
            try:
                self._write_one(label, text)
            except (NodeError, VerbFailed) as error:
                problems.append(f"{label}: {str(error).splitlines()[0][:300]}")
        return problems

    def _write_one(self, label: str, text: str) -> None:
        agent = self.fleet.member(label).agent
        if label in self.locked:
            persist(agent, self.run, text)
            return
        # A node whose manifest stays as it is has no part in the run.
        agent.lock(self.run, "persist", self.settings.who, self.settings.confirm_timeout)
        try:
            persist(agent, self.run, text)
        finally:
            agent.unlock(self.run)

    def _told(self) -> list[str]:
        """What the operator has to do at the next upgrade, which kubeadm does not remember."""
        if not any(node.after for node in self.plan.nodes):
            return []
        told = (
            "at the next upgrade, name the patches on every control-plane node: kubeadm upgrade "
            f"apply VERSION --patches {PATCHES} (on the others: kubeadm upgrade node --patches …; "
            "for a new one: kubeadm join --patches …)"
        )
        return [told]
