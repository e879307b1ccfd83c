"""Objects that a run brings to the cluster, and the way back to what was there before."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from kschedpatch.cluster.kubectl import ApiRefused, Kubectl, Object
from kschedpatch.model.plan import ClusterObject
from kschedpatch.node.errors import NodeError

_SERVERS_OWN = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields")


class BroughtObjects:
    """Applied one by one; ``undo`` puts back what was there, or takes away what was not."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        self._before: list[tuple[ClusterObject, Object | None]] = []

    def bring(self, objects: Sequence[ClusterObject]) -> None:
        for item in objects:
            metadata = item.body["metadata"]
            kind = str(item.body["kind"])
            before = self._kubectl.get(kind, metadata["name"], metadata.get("namespace"))
            # Noted first: a call that was cut off may have worked.
            self._before.append((item, before))
            self._kubectl.apply(item.body)

    def undo(self) -> tuple[str, ...]:
        """Returns the titles of what could not be put back."""
        left = []
        for item, before in reversed(self._before):
            try:
                if before is None:
                    self._kubectl.delete(item.body)
                else:
                    self._kubectl.apply(_as_given(before))
            except (ApiRefused, NodeError):
                left.append(item.title)
        self._before.clear()
        return tuple(left)


def _as_given(body: Object) -> Object:
    """Without what the API server itself has put there."""
    given = copy.deepcopy(body)
    given.pop("status", None)
    for key in _SERVERS_OWN:
        given.get("metadata", {}).pop(key, None)
    return given
