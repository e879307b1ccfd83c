"""A plan: the exact bytes of everything that a patch brings, and what was found on the way."""

from __future__ import annotations

from typing import Any, NamedTuple

from kschedpatch.model.finding import Finding, has_errors
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.sources import SourceFile

GENERATIONS = "/etc/kubernetes/kschedpatch/generations"


class StagedFile(NamedTuple):
    name: str
    """Its name in the generation's directory."""
    mode: int
    file: SourceFile


class Generation(NamedTuple):
    """All that a patch brings to a node, in a directory that never changes once it is there."""

    id: str
    files: tuple[StagedFile, ...]

    @property
    def directory(self) -> str:
        return f"{GENERATIONS}/{self.id}"


class ClusterObject(NamedTuple):
    """An object for the API server, ours (RBAC) or the user's (``objects``)."""

    body: dict[str, Any]
    source: str
    """Where it comes from, for people: ``rbac.rules``, a file's name, ``config``."""

    @property
    def title(self) -> str:
        metadata = self.body.get("metadata") or {}
        namespace = metadata.get("namespace")
        name = metadata.get("name", "?")
        kind = self.body.get("kind", "?")
        return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


class Plan(NamedTuple):
    patch_name: str
    version: KubeVersion | None
    base: str
    """What the patch is applied to: what stood there before any."""
    before: str
    after: str
    generation: Generation | None
    rbac: tuple[ClusterObject, ...]
    objects: tuple[ClusterObject, ...]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return not has_errors(self.findings)

    @property
    def changed(self) -> bool:
        return self.before != self.after or bool(self.rbac or self.objects)
