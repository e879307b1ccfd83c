"""The Deployment itself: as it is, and made what it was."""

from __future__ import annotations

import time

from kschedpatch.cluster.deploymentwatch import RolloutFailed
from kschedpatch.cluster.kubectl import ApiRefused, Kubectl
from kschedpatch.core.deployment.former import returned, runs_as
from kschedpatch.core.objects import marks
from kschedpatch.model.clusterplan import Object
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.rollout import FailureReason

_TRIES = 3


class DeploymentState:
    def __init__(self, kubectl: Kubectl, target: DeploymentTarget) -> None:
        self.kubectl, self.target = kubectl, target

    def live(self) -> Object | None:
        return next(iter(self.kubectl.get_all([self.target.ref.bare]).items), None)

    def put(self, live: Object | None, wanted: Object | None) -> Object | None:
        """The Deployment as it was, or none at all."""
        if wanted is None:
            self.kubectl.delete_all([self.target.ref.bare])
            return None
        if live is None:
            [made] = self.kubectl.created([marks.as_given(wanted)])
            return made
        self.kubectl.replace_all([returned(live, wanted)])
        return self.live()

    def put_back(self, wanted: Object | None, ours: Object | None) -> None:
        """To what it was; not over what somebody else has made of ours in the meantime."""
        for attempt in range(_TRIES):
            live = self.live()
            if ours is not None and live is not None and not runs_as(live, ours):
                detail = "somebody else has changed the Deployment in the meantime"
                raise RolloutFailed(FailureReason.FOREIGN, detail)
            try:
                self.put(live, wanted)
            except ApiRefused as error:
                # Its status changes all the time: the resource version guards the rest.
                if "modified" not in str(error) or attempt == _TRIES - 1:
                    raise
                time.sleep(1)
            else:
                return


def generation_of(live: Object | None) -> tuple[object, object] | None:
    metadata = (live or {}).get("metadata")
    return (metadata.get("uid"), metadata.get("generation")) if metadata else None
