"""What kubeadm is given so that its next rendering keeps the change: `apply --persist`."""

from __future__ import annotations

from typing import Any, NamedTuple

from kschedpatch.model.finding import Finding

Value = dict[str, Any]


class Kept(NamedTuple):
    """What the cluster remembers of what was put into kubeadm's configuration."""

    run: str
    patch: str
    scheduler: Value
    """What was put into ``scheduler`` of the ClusterConfiguration."""
    replaced: Value = {}  # noqa: RUF012  never changed
    """What stood there under the same names."""
    before: str = ""
    """The whole ClusterConfiguration as it was before the first time: for people."""


class NodePatch(NamedTuple):
    """The file in the directory that kubeadm is pointed to on a node; empty: there is none."""

    label: str
    before: str
    after: str


class PersistPlan(NamedTuple):
    asked: bool = False
    """Somebody wants it, or did so once: then it is kept in step."""
    kept: Kept | None = None
    wanted: Kept | None = None
    """None: everything of ours goes."""
    before: str = ""
    """The ClusterConfiguration as it is now."""
    after: str = ""
    nodes: tuple[NodePatch, ...] = ()
    findings: tuple[Finding, ...] = ()
    blind: str = ""
    """Why the cluster could not be looked at; only a rollback goes on then."""

    @property
    def changed(self) -> bool:
        if not self.asked or self.blind:
            return False
        remembered = self.kept.scheduler if self.kept is not None else None
        wanted = self.wanted.scheduler if self.wanted is not None else None
        files = any(node.before != node.after for node in self.nodes)
        return self.before != self.after or remembered != wanted or files
