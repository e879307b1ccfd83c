"""What a run does to objects of the cluster, and what the nodes keep of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from kschedpatch.model.finding import Finding

Object = dict[str, Any]
Key = tuple[str, str, str, str]


class Ref(NamedTuple):
    """Which object: versions of one group lead to the same."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def key(self) -> Key:
        # kubectl takes a namespaced object without a namespace for one of «default»; what belongs
        # to none is never confused by it, because a kind is either.
        return self.group, self.kind, self.namespace or "default", self.name

    @property
    def title(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"

    @property
    def bare(self) -> Object:
        """As kubectl is asked for it."""
        metadata = {"name": self.name}
        if self.namespace:
            metadata["namespace"] = self.namespace
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata}


def ref_of(body: Object) -> Ref:
    metadata = body.get("metadata") or {}
    return Ref(
        str(body.get("apiVersion", "")),
        str(body.get("kind", "")),
        str(metadata.get("namespace") or ""),
        str(metadata.get("name", "")),
    )


class Action(StrEnum):
    CREATE = "create"
    CHANGE = "change"
    UNCHANGED = "unchanged"
    DELETE = "delete"
    RESTORE = "restore"
    """Its content from before goes back."""
    STAYS = "stays"
    """A CustomResourceDefinition: everything of its kind would be lost with it."""
    LEFT = "left"
    """Somebody else has changed it since, or has things of theirs in it."""


ACTS = frozenset({Action.CREATE, Action.CHANGE, Action.DELETE, Action.RESTORE})


class ObjectChange(NamedTuple):
    action: Action
    ref: Ref
    body: Object | None
    """What the object is to be: applied, or put back; None where it goes."""
    live: Object | None = None
    """What it is now, without what the API server itself puts there."""
    after: Object | None = None
    """What the API server says that it would become; None where it can't be asked."""
    original: Object | None = None
    """What it was before kschedpatch first touched it; None: it was not there."""
    source: str = ""
    """Where it comes from, for people: ``rbac.rules``, a file's name, a run."""
    footprint: str = ""
    """Of the object as it was left, where that is known (``core.objects.marks``)."""
    why: str = ""
    """Why it stays or is left."""


class Clearing(NamedTuple):
    """What a run has left behind that was never confirmed: its operator died, or lost the API."""

    run: str
    steps: tuple[ObjectChange, ...]


class ClusterPlan(NamedTuple):
    patch: str = ""
    brought: tuple[ObjectChange, ...] = ()
    """Before the switch, in this order."""
    removed: tuple[ObjectChange, ...] = ()
    """After the confirm, in this order: until then the old scheduler may need them."""
    cleared: tuple[Clearing, ...] = ()
    """Before everything else."""
    blind: str = ""
    """Why nobody could look, although the nodes keep that there are objects."""
    findings: tuple[Finding, ...] = ()

    @property
    def steps(self) -> tuple[ObjectChange, ...]:
        cleared = (step for clearing in self.cleared for step in clearing.steps)
        return (*cleared, *self.brought, *self.removed)

    @property
    def changed(self) -> bool:
        return any(step.action in ACTS for step in self.steps)

    @property
    def empty(self) -> bool:
        return not (self.brought or self.removed or self.cleared)


class Entry(NamedTuple):
    """One object in a ledger."""

    ref: Ref
    body: Object | None
    """As the run leaves it; None: it goes, or its original comes back."""
    original: Object | None
    before: Object | None
    """What it was right before this run."""
    footprint: str = ""
    source: str = ""


class Ledger(NamedTuple):
    """All objects that a run leaves in force, those of earlier runs included: so the ledger of the
    last confirmed run tells everything, and a rollback goes from one ledger to another."""

    run: str
    patch: str
    entries: tuple[Entry, ...] = ()

    def find(self, key: Key) -> Entry | None:
        return next((entry for entry in self.entries if entry.ref.key == key), None)


class ObjectResult(NamedTuple):
    title: str
    action: Action
    why: str = ""
