"""All that a page tells of a run: filled in as the run goes on, only read by who renders it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from kschedpatch.core.fleet.standing import NodeStatus
from kschedpatch.model.checks import Check
from kschedpatch.model.clusterplan import ClusterPlan
from kschedpatch.model.finding import Finding, has_errors
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.persistplan import PersistPlan
from kschedpatch.model.rollout import RollbackTarget, RolloutResult, RolloutSettings
from kschedpatch.report.page.timelines import Lane, lanes
from kschedpatch.report.recording import Moment, Recorder


class RunRecord:
    def __init__(self, command: str, began: datetime | None = None) -> None:
        self.command = command
        self.began = began or datetime.now(UTC)
        self.ended: datetime | None = None
        self.who = ""
        self.reason = ""
        self.recorder = Recorder()
        self.moments: tuple[Moment, ...] = ()
        self.pauses: tuple[float, ...] = ()
        self.seconds = 0.0
        self.patch = ""
        self.plan: FleetPlan | None = None
        self.targets: tuple[RollbackTarget, ...] = ()
        self.cluster = ClusterPlan()
        self.persist = PersistPlan()
        self.result: RolloutResult | None = None
        self.checks: tuple[Check, ...] = ()
        self.nodes: tuple[NodeStatus, ...] = ()
        self.findings: tuple[Finding, ...] = ()
        self.exit_code: int | None = None
        """None: it has not ended."""
        self.words = ""
        """What the command said in the end, where there is no result to tell of."""

    def by(self, settings: RolloutSettings) -> RunRecord:
        self.who, self.reason = settings.who, settings.reason
        return self

    def planned(
        self,
        plan: FleetPlan,
        cluster: ClusterPlan,
        persist: PersistPlan,
        findings: Sequence[Finding],
    ) -> RunRecord:
        self.patch, self.plan = plan.patch_name, plan
        self.cluster, self.persist, self.findings = cluster, persist, tuple(findings)
        return self

    def goes_back(
        self,
        targets: Sequence[RollbackTarget],
        cluster: ClusterPlan,
        persist: PersistPlan,
        findings: Sequence[Finding],
    ) -> None:
        self.targets = tuple(targets)
        self.cluster, self.persist, self.findings = cluster, persist, tuple(findings)

    def of_deployment(self, patch: str, cluster: ClusterPlan, findings: Sequence[Finding]) -> None:
        self.patch, self.cluster, self.findings = patch, cluster, tuple(findings)

    def checked(
        self, checks: Sequence[Check], nodes: Sequence[NodeStatus], findings: Sequence[Finding]
    ) -> None:
        self.checks, self.nodes, self.findings = tuple(checks), tuple(nodes), tuple(findings)

    def end(self, exit_code: int, words: str = "") -> None:
        """With this the times stand still."""
        self.exit_code, self.words = exit_code, words
        self.ended = datetime.now(UTC)
        self.moments, self.pauses = self.recorder.moments, self.recorder.pauses
        self.seconds = self.recorder.seconds

    @property
    def is_planned(self) -> bool:
        """Somebody has come as far as a plan, and nothing stands against it."""
        there = self.plan is not None or not self.cluster.empty
        return there and not has_errors(self.findings)

    @property
    def labels(self) -> tuple[str, ...]:
        """The nodes in the order of the run, as far as it is known."""
        known = [node.label for node in self.result.nodes] if self.result else []
        known += [node.label for node in self.plan.nodes] if self.plan else []
        known += [target.label for target in self.targets]
        known += [node.label for node in self.nodes]
        return tuple(dict.fromkeys(known))

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return lanes(self.moments, self.pauses, self.seconds, self.labels)
