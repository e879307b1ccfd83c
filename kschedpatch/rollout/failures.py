"""What went wrong, as a value for the report."""

from __future__ import annotations

from kschedpatch.cluster.kubectl import ApiRefused
from kschedpatch.cluster.room import NoRoom
from kschedpatch.model.events import Phase
from kschedpatch.model.rollout import Failure, FailureReason
from kschedpatch.node.agent import Code, VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.rollout.bringing import NotBrought

_BY_CODE = {
    Code.LOCKED: FailureReason.LOCKED,
    Code.TOO_LATE: FailureReason.TOO_LATE,
    Code.FOREIGN: FailureReason.FOREIGN,
}
_BY_REASON = {
    "crash": FailureReason.CRASH,
    "start": FailureReason.CRASH,
    "mount": FailureReason.MOUNT,
    "image": FailureReason.IMAGE,
    "refused": FailureReason.REFUSED,
    "denied": FailureReason.DENIED,
    "timeout": FailureReason.NOT_READY,
    "pull": FailureReason.IMAGE,
    "pull-timeout": FailureReason.IMAGE,
    "upload": FailureReason.IMAGE,
    "damaged": FailureReason.IMAGE,
    "import": FailureReason.IMAGE,
    "preflight": FailureReason.PREFLIGHT,
    "disk": FailureReason.DISK,
    "room": FailureReason.ROOM,
    "rename": FailureReason.DISK,
    "dead-man": FailureReason.TOOL,
    "kubectl": FailureReason.TOOL,
    "not-locked": FailureReason.TOO_LATE,
}


class StepFailed(Exception):
    """A step of the roll-out did not work; carries the failure for the report."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


def failure_of(label: str, phase: Phase, error: Exception) -> Failure:
    if isinstance(error, VerbFailed):
        reason = _BY_CODE.get(Code(error.code) if error.code in set(Code) else Code.DONE)
        reason = reason or _BY_REASON.get(error.reason, FailureReason.OTHER)
        detail = error.detail
        if reason is FailureReason.LOCKED:
            detail = _locked(error)
        return Failure(label, phase, reason, detail, error.log, error.journal)
    if isinstance(error, NodeError):
        return Failure(label, phase, FailureReason.LOST, str(error))
    if isinstance(error, ApiRefused):
        return Failure(label, phase, FailureReason.RBAC, str(error))
    if isinstance(error, NotBrought):
        return Failure(label, phase, FailureReason.IMAGE, str(error))
    if isinstance(error, NoRoom):
        return Failure(label, phase, FailureReason.ROOM, str(error))
    return Failure(label, phase, FailureReason.OTHER, f"{type(error).__name__}: {error}")


def _locked(error: VerbFailed) -> str:
    first = error.reply.first
    return (
        f"{first('owner') or 'somebody'} has an open run there: {first('owner_run')}, "
        f"{first('state')}, since {first('since')} (seconds since 1970), "
        f"its time ends in {first('deadline_in')} s"
    )
