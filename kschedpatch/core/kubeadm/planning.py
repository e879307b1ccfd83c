"""What kubeadm has to be given for the manifests that the nodes will have. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kschedpatch.core.kubeadm.clusterconfig import UnreadableConfiguration, is_older_api
from kschedpatch.core.kubeadm.keeping import CONFIG_REF, step
from kschedpatch.core.kubeadm.persisting import Persisted, persisted
from kschedpatch.core.manifest.document import read_manifest
from kschedpatch.core.yamltext import emit
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.persistplan import Kept, NodePatch, PersistPlan


class Rendered(NamedTuple):
    """A node's manifest as it will be, and what it is made from."""

    label: str
    base: str
    after: str
    patch_now: str
    """What kubeadm is given on the node today."""


def plan_persist(
    nodes: Sequence[Rendered], patch_name: str, text: str, kept: Kept | None
) -> PersistPlan:
    """``text`` is the ClusterConfiguration, ``kept`` what the cluster remembers."""
    plan = PersistPlan(asked=True, kept=kept, before=text, after=text)
    try:
        # What has no place in the older API goes into the patches.
        listed = not is_older_api(text)
        said = {node.label: _persisted(node, listed=listed) for node in nodes}
        parts = [one.scheduler for one in said.values() if one is not None]
        if any(part != parts[0] for part in parts[1:]) or 0 < len(parts) < len(said):
            return plan._replace(findings=(_different(nodes, said),))
        wanted = Kept("", patch_name, parts[0]) if parts else None
        done = step(text, kept, wanted)
    except UnreadableConfiguration as error:
        message = f"{CONFIG_REF.title}: {error}"
        return plan._replace(findings=(found("N095", message),))
    files = tuple(
        NodePatch(node.label, node.patch_now, emit.document(one.patch) if one else "")
        for node, one in zip(nodes, said.values(), strict=True)
    )
    return plan._replace(wanted=done.kept, after=done.after, nodes=files)


def _persisted(node: Rendered, *, listed: bool) -> Persisted | None:
    """None where the manifest is kubeadm's own."""
    if node.base == node.after:
        return None
    base = read_manifest(node.base.encode(), "the base").manifest
    after = read_manifest(node.after.encode(), "the result").manifest
    if base is None or after is None:
        raise UnreadableConfiguration(f"the manifest of {node.label} can't be compared")
    return persisted(base.pod, after.pod, after.container_index, listed=listed)


def _different(nodes: Sequence[Rendered], said: dict[str, Persisted | None]) -> Finding:
    first = next(iter(said.values()))
    others = [node.label for node in nodes if _scheduler(said[node.label]) != _scheduler(first)]
    message = f"{nodes[0].label} needs other flags or mounts than {', '.join(others)}"
    hint = "make the nodes alike first, or use `export` for each of them"
    return found("N096", message, hint=hint)


def _scheduler(one: Persisted | None) -> object:
    return one.scheduler if one is not None else None
