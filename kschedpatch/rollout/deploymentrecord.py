"""What a run on a Deployment writes down in the cluster, from begin to end; and its lock."""

from __future__ import annotations

from kschedpatch.cluster import deployments
from kschedpatch.cluster.kubectl import UNANSWERED, Kubectl
from kschedpatch.core.deployment import records
from kschedpatch.core.deployment.records import Record
from kschedpatch.model.clusterplan import Entry, Ledger, Object, ObjectChange
from kschedpatch.model.rollout import RolloutSettings
from kschedpatch.rollout.deploymentlook import DeploymentLook

#: Beyond all that a run may wait for, until somebody else may take its lock for forgotten.
_MARGIN = 120


class RunRecord:
    def __init__(
        self,
        run: str,
        kind: str,
        kubectl: Kubectl,
        look: DeploymentLook,
        change: ObjectChange,
        ledger: Ledger,
        settings: RolloutSettings,
    ) -> None:
        """``ledger`` is that of the objects; the Deployment's own entry is added here."""
        self._kubectl, self._look, self._settings = kubectl, look, settings
        self._target = look.target
        self._entry = Entry(
            change.ref, _document(look), change.original, change.live, source="target"
        )
        self._is_kept = False
        self._record = Record(
            run=run,
            kind=kind,
            patch=look.plan.patch_name if look.plan else ledger.patch,
            patch_text=look.plan.patch_text if look.plan else _text_of_way(look),
            who=settings.who,
            reason=settings.reason,
            outcome=records.OPEN,
            ledger=self._whole(ledger),
        )

    def _whole(self, ledger: Ledger) -> Ledger:
        return ledger._replace(entries=(*ledger.entries, self._entry))

    def begin(self) -> None:
        """Whoever finds the lock taken has left nothing behind."""
        s = self._settings
        waits = int(s.pull_timeout + 2 * s.watch_timeout + s.objects_timeout) + _MARGIN
        self._record = deployments.begin_record(self._kubectl, self._target, self._record)
        try:
            deployments.lock(self._kubectl, self._target, self._record, waits)
        except (deployments.Locked, *UNANSWERED):
            deployments.forget_records(self._kubectl, self._target, [self._record])
            raise
        self._is_kept = True

    def end(self, outcome: str, ledger: Ledger, after: Object | None = None) -> str:
        """Keeps what became of the run, and gives the lock back. Empty, or what went wrong."""
        if not self._is_kept:
            return ""
        self._record = self._record._replace(
            outcome=outcome, after=after, ledger=self._whole(ledger)
        )
        problem = ""
        try:
            deployments.renew_record(self._kubectl, self._target, self._record)
            self._tidy()
        except UNANSWERED as error:
            problem = f"the cluster does not keep how this run ended: {error}"
        deployments.unlock(self._kubectl, self._target)
        return problem

    def _tidy(self) -> None:
        """Runs that nobody had ended are ended by this one; the oldest are forgotten, and the
        files that only they named."""
        former = self._look.runs
        if self._record.outcome == records.CONFIRMED:
            for run in records.open_ones(former):
                ended = run._replace(outcome=records.FAILED)
                deployments.renew_record(self._kubectl, self._target, ended)
        runs = [self._record, *former]
        gone = list(records.superfluous(runs))
        deployments.forget_records(self._kubectl, self._target, gone)
        # What never came into force brought files that nobody goes back to.
        kept = [
            run
            for run in runs
            if run not in gone and run.outcome in (records.CONFIRMED, records.OPEN)
        ]
        deployments.forget_files(self._kubectl, self._target, kept)


def _document(look: DeploymentLook) -> Object | None:
    """What is applied; of a rollback, what the run to whose state it goes had applied."""
    if look.plan is not None:
        return look.plan.document
    entry = look.way.ledger.find(look.target.ref.key) if look.way is not None else None
    return entry.body if entry is not None else None


def _text_of_way(look: DeploymentLook) -> str:
    run = look.way.ledger.run if look.way is not None else ""
    return next((record.patch_text for record in look.runs if record.run == run), "")
