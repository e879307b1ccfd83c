"""The way to a cluster without its nodes: the operator's own kubectl."""

from __future__ import annotations

from pathlib import Path

from kschedpatch.cluster.kubectl import Kubectl
from kschedpatch.cluster.ownkubectl import OwnKubectl
from kschedpatch.model.events import Listener, nobody
from kschedpatch.model.facts import NodeFacts
from kschedpatch.rollout.fleet import Member


class OwnReach:
    """As a fleet that has no nodes."""

    def __init__(self, kubeconfig: Path, listener: Listener = nobody) -> None:
        self._kubectl = Kubectl(OwnKubectl(kubeconfig))
        self.listener = listener
        self.facts: tuple[NodeFacts, ...] = ()
        self.members: tuple[Member, ...] = ()

    def member(self, label: str) -> Member:
        raise KeyError(label)

    def kubectl(self) -> Kubectl:
        return self._kubectl
