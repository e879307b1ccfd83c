"""What a patch makes of a scheduler that runs as a Deployment: what `plan` shows, `apply` does."""

from __future__ import annotations

from typing import Any, NamedTuple

from kschedpatch.model.clusterplan import Object, Ref
from kschedpatch.model.finding import Finding, has_errors
from kschedpatch.model.fleetplan import Preflight
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.plan import ClusterObject, Generation


class DeploymentTarget(NamedTuple):
    namespace: str
    name: str
    is_new: bool = False
    """A second scheduler that kschedpatch makes; otherwise somebody's, which it changes."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def title(self) -> str:
        return f"Deployment {self}"

    @property
    def ref(self) -> Ref:
        return Ref("apps/v1", "Deployment", self.namespace, self.name)


class DeploymentPlan(NamedTuple):
    target: DeploymentTarget
    patch_name: str
    patch_text: str
    """The patch with everything filled in, as YAML: kept in the cluster with each run."""
    version: KubeVersion | None
    document: Object
    """What is applied to the Deployment, server-side: only what is ours."""
    template: Object
    """The pod template as it is meant to become."""
    objects: tuple[ClusterObject, ...]
    """What comes before it: ServiceAccount, RBAC, ConfigMap, the user's own objects."""
    account: str
    """The ServiceAccount as which its pods act."""
    profiles: tuple[str, ...] = ()
    """The scheduler names that it serves then; empty where the patch does not say."""
    lease: str = ""
    """``namespace/name``; empty where it elects nobody, or the patch does not say."""
    config: dict[str, Any] = {}  # noqa: RUF012  never changed
    generation: Generation | None = None
    """What the ConfigMap holds, as files: a node tries the scheduler with them."""
    preflight: Preflight | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        return not has_errors(self.findings)
