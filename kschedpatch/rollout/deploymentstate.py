"""The Deployment itself: as it is, and made what it was."""

from __future__ import annotations

import time
from collections.abc import Callable

from kschedpatch.cluster.deploymentwatch import RolloutFailed
from kschedpatch.cluster.kubectl import ApiRefused, Kubectl
from kschedpatch.core.deployment.former import returned, runs_as
from kschedpatch.core.objects import marks
from kschedpatch.model.clusterplan import Object
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.rollout import FailureReason

_TRIES = 10
_PAUSE = 0.3


class DeploymentState:
    def __init__(self, kubectl: Kubectl, target: DeploymentTarget) -> None:
        self.kubectl, self.target = kubectl, target

    def live(self) -> Object | None:
        return next(iter(self.kubectl.get_all([self.target.ref.bare]).items), None)

    def check_planned(self, live: Object | None, planned: Object | None) -> None:
        if generation_of(live) != generation_of(planned):
            detail = f"{self.target.title} was changed since it was planned"
            raise RolloutFailed(FailureReason.FOREIGN, detail)

    def put(self, planned: Object | None, wanted: Object | None) -> Object | None:
        """The Deployment as it is wanted, or none at all; not over what somebody else has made of
        it since it was planned."""
        return self._exchanged(wanted, lambda live: self.check_planned(live, planned))

    def put_back(self, wanted: Object | None, ours: Object | None) -> None:
        """To what it was; not over what somebody else has made of ours in the meantime."""

        def check(live: Object | None) -> None:
            if ours is not None and live is not None and not runs_as(live, ours):
                detail = "somebody else has changed the Deployment in the meantime"
                raise RolloutFailed(FailureReason.FOREIGN, detail)

        self._exchanged(wanted, check)

    def _exchanged(
        self, wanted: Object | None, check: Callable[[Object | None], None]
    ) -> Object | None:
        for attempt in range(_TRIES):
            live = self.live()
            check(live)
            try:
                return self._put(live, wanted)
            except ApiRefused as error:
                # Its status changes all the time while pods come and go: no reason to give up. Of
                # the rest the resource version takes care, and the check before the next try.
                if "modified" not in str(error) or attempt == _TRIES - 1:
                    raise
                time.sleep(_PAUSE)
        raise AssertionError("the last try returns or raises")

    def _put(self, live: Object | None, wanted: Object | None) -> Object | None:
        if wanted is None:
            self.kubectl.delete_all([self.target.ref.bare])
            return None
        if live is None:
            [made] = self.kubectl.created([marks.as_given(wanted)])
            return made
        self.kubectl.replace_all([returned(live, wanted)])
        return self.live()


def generation_of(live: Object | None) -> tuple[object, object] | None:
    metadata = (live or {}).get("metadata")
    return (metadata.get("uid"), metadata.get("generation")) if metadata else None
