"""Where a rollback leads: first which kept bytes are wanted, then whether they can work. Pure.

Made for three in the morning: refused is only what can't work.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kschedpatch.core.fleet.canary import live_scheduler
from kschedpatch.core.fleet.hosttypes import type_problem
from kschedpatch.core.fleet.noderules import about
from kschedpatch.core.fleet.questions import located, manifest_of
from kschedpatch.core.fleet.runids import is_run_id
from kschedpatch.core.fleet.serving import health_of, host_paths, image_of, preflight_of
from kschedpatch.core.fleet.standing import CONFIRMED, last_confirmed
from kschedpatch.core.kubeadm.unpatching import base_below, is_kept_by_kubeadm
from kschedpatch.core.manifest.base import base_hash
from kschedpatch.core.manifest.document import Manifest, read_manifest
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding, has_errors
from kschedpatch.model.fleetplan import NodePlan
from kschedpatch.model.revision import ORIGINAL, Revision
from kschedpatch.model.rollout import RollbackTarget


class Wanted(NamedTuple):
    """Kept bytes to be fetched from the node: ``kept(run)``, and of these one side."""

    label: str
    run: str
    side: str
    """before or after; empty where ``content`` has the bytes already."""
    sha256: str = ""
    """What the bytes must have; empty where nobody knows."""
    ends_transaction: bool = False
    content: bytes | None = None
    findings: tuple[Finding, ...] = ()
    objects: bool = False
    """Also where the manifest is there already: that run changed objects of the cluster."""


class NoTarget(NamedTuple):
    label: str
    findings: tuple[Finding, ...]
    """Empty: the node is there already."""


def wanted_of(node: NodeFacts, to: str | None) -> Wanted | NoTarget:
    """``to`` is a run's id, ``original``, or None for one step back."""
    if node.transaction is not None:
        return Wanted(node.label, node.transaction.run, "before", ends_transaction=True)
    if node.manifest is None:
        message = "there is no manifest, and no open run that could bring it back"
        hint = "kubeadm init phase control-plane scheduler writes one"
        return _no(node, about(node, "N201", message, hint, node.manifests_directory))
    if to == ORIGINAL:
        return _original(node)
    return _one_back(node) if to is None else _named(node, to)


def _no(node: NodeFacts, *findings: Finding) -> NoTarget:
    return NoTarget(node.label, findings)


def _one_back(node: NodeFacts) -> Wanted | NoTarget:
    assert node.manifest is not None  # noqa: S101  looked at above
    applied = [item for item in node.revisions if item.kind == "apply" and _kept(item)]
    # Only runs of apply count: or a second rollback would bring back what the first took away.
    made = _made(node, node.manifest.sha256)
    if made is not None:
        objects = made.before == made.after
        return Wanted(node.label, made.run, "before", made.before, objects=objects)
    current = manifest_of(node)
    last = last_confirmed(node)
    if (current is None or current.is_patched) and applied and last is not None:
        # Changed by hand since. What stood there before the last run is still the way back.
        newest = last if last.kind == "apply" else applied[0]
        message = f"what was changed since run {newest.run} goes away"
        lost = about(node, "N208", message, path=node.manifest.path)
        return Wanted(node.label, newest.run, "before", newest.before, findings=(lost,))
    if current is not None and is_kept_by_kubeadm(current) and last is not None:
        return _below(node, current, last)
    message = "no kept run of apply led to the manifest that stands here"
    hint = "kschedpatch history shows the runs, rollback --to RUN goes to one"
    return _no(node, about(node, "N201", message, hint if node.revisions else ""))


def _below(node: NodeFacts, current: Manifest, last: Revision) -> Wanted | NoTarget:
    """kubeadm has rendered the last run's patch into a manifest of its own: what stood there before
    that run is of another version, but the same way back leads from today's."""
    below = base_below(current, node)
    first = base_hash(node.base.decode("utf-8", "replace")) if node.base is not None else ""
    if below is not None and first == f"sha256:{last.before}":
        return Wanted(node.label, last.run, "", content=below.text.encode())
    message = f"kubeadm has rendered run {last.run}'s patch anew, and another was there before it"
    hint = "kschedpatch rollback --to original un-patches it; apply brings the other patch"
    return _no(node, about(node, "N201", message, hint))


def _made(node: NodeFacts, sha256: str) -> Revision | None:
    """The run of apply that made this state. Runs that changed nothing but objects leave the same
    manifest, and so does going back from one of them: each such rollback takes one of them away."""
    taken_back = 0
    for item in node.revisions:
        if not _kept(item) or not item.kind or item.after != sha256:
            continue
        only_objects = item.before == item.after
        if item.kind == "rollback":
            taken_back += only_objects
        elif only_objects and taken_back:
            taken_back -= 1
        else:
            return item
    return None


def _kept(revision: Revision) -> bool:
    return revision.outcome == CONFIRMED


def _named(node: NodeFacts, to: str) -> Wanted | NoTarget:
    assert node.manifest is not None  # noqa: S101  looked at above
    revision = next((item for item in node.revisions if item.run == to and item.kind), None)
    if not is_run_id(to) or revision is None:
        message = f"no run {to!r} is kept here"
        return _no(node, about(node, "N202", message, "kschedpatch history shows the runs"))
    if not _kept(revision):
        message = f"run {to} ended as {revision.outcome}: what it brought was not left there"
        return _no(node, about(node, "N202", message, "kschedpatch history shows the runs"))
    if revision.after != node.manifest.sha256:
        return Wanted(node.label, to, "after", revision.after)
    last = last_confirmed(node)
    if last is None or last.run == to or not (last.objects or revision.objects):
        return _no(node)
    return Wanted(node.label, to, "after", revision.after, objects=True)


def _original(node: NodeFacts) -> Wanted | NoTarget:
    """Un-patched. After an upgrade that is kubeadm's newer manifest, not the first one."""
    current = manifest_of(node)
    below = base_below(current, node) if current is not None else None
    if below is not None:
        return Wanted(node.label, ORIGINAL, "", content=below.text.encode())
    if current is not None and not current.is_patched:
        last = last_confirmed(node)
        if last is None or not last.objects:
            return _no(node)
        return Wanted(node.label, ORIGINAL, "", content=current.text.encode(), objects=True)
    first = read_manifest(node.original, "original").manifest if node.original else None
    base = read_manifest(node.base, "base").manifest if node.base is not None else None
    named = current.annotations.get("kschedpatch.io/base") if current is not None else None
    if base is not None and base_hash(base.text) != named:
        base = None
    if base is not None and (first is None or image_of(first) != image_of(base)):
        findings = []
        if first is not None:
            message = f"{image_of(first)} stood here first; today's manifest has {image_of(base)}"
            findings.append(about(node, "N209", message))
        return Wanted(
            node.label, ORIGINAL, "", content=base.text.encode(), findings=tuple(findings)
        )
    if first is None:
        message = "the node does not keep what stood here before the first patch"
        hint = "kubeadm init phase control-plane scheduler writes an un-patched manifest"
        return _no(node, about(node, "N203", message, hint))
    return Wanted(node.label, ORIGINAL, "", content=first.text.encode())


class Judged(NamedTuple):
    target: RollbackTarget | None
    findings: tuple[Finding, ...]


def judge_target(
    node: NodeFacts, wanted: Wanted, fetched: bytes | None, *, leads: bool = False
) -> Judged:
    """``node`` is a look that asked about the paths and images of the fetched manifest."""
    content = wanted.content if wanted.content is not None else fetched
    name = located(node, f"the manifest kept by {wanted.run}")
    manifest = read_manifest(content, name).manifest if content is not None else None
    if wanted.ends_transaction:
        # Whatever is wrong with it: the node restores it anyway, now or at the deadline.
        plan = _plan(node, manifest, leads=leads) if manifest is not None else None
        un_patched = manifest is not None and not manifest.is_patched
        target = RollbackTarget(
            node.label, wanted.run, ends_transaction=True, un_patched=un_patched, plan=plan
        )
        return Judged(target, wanted.findings)
    if manifest is None:
        message = f"what run {wanted.run} kept is gone from the node, or can't be read"
        hint = "kschedpatch rollback --to original un-patches today's manifest"
        return Judged(None, (about(node, "N203", message, hint),))
    if wanted.sha256 and base_hash(manifest.text) != f"sha256:{wanted.sha256}":
        message = f"what run {wanted.run} kept is not what it was: its hash differs"
        return Judged(None, (about(node, "N203", message),))
    plan = _plan(node, manifest, leads=leads)
    # What runs now can't be refused.
    findings = (*wanted.findings, *(_obstacles(node, manifest) if plan.changed else ()))
    if has_errors(findings):
        return Judged(None, findings)
    target = RollbackTarget(
        node.label,
        wanted.run,
        ends_transaction=False,
        un_patched=not manifest.is_patched,
        plan=plan,
        side=wanted.side or "before",
    )
    return Judged(target if plan.changed or wanted.objects else None, findings)


def _obstacles(node: NodeFacts, manifest: Manifest) -> Iterator[Finding]:
    version, kubelet = manifest.version, node.kubelet
    if version is not None and kubelet is not None and version.minor < kubelet.minor - 1:
        message = f"it runs {version}, and the kubelet here is {kubelet}"
        hint = "kschedpatch rollback --to original un-patches today's manifest"
        yield about(node, "N204", message, hint)
    for _, path, kind in host_paths(manifest):
        problem = type_problem(kind, node.path_types.get(path))
        if problem:
            hint = "kschedpatch rollback --to original needs none of the patch's files"
            yield about(node, "N205", f"{path} {problem}", hint if manifest.is_patched else "")
    image = image_of(manifest)
    if node.images.get(image) is False:
        if _has_registry(image):
            yield about(node, "N207", f"{image} is not on the node")
        else:
            hint = "import it on the node, for example with ctr -n k8s.io images import"
            yield about(node, "N206", f"{image} is not on the node, and names no registry", hint)


def _has_registry(image: str) -> bool:
    """A first part with a dot or a port is a registry's host; localhost is nobody's."""
    host, slash, _ = image.partition("/")
    return bool(slash) and ("." in host or ":" in host) and not host.startswith("localhost")


def _plan(node: NodeFacts, manifest: Manifest, *, leads: bool) -> NodePlan:
    current = manifest_of(node)
    file = node.manifest
    health = health_of(manifest, node.kubelet)
    return NodePlan(
        label=node.label,
        node_name=node.node_name,
        machine_id=node.machine_id,
        manifest_path=file.path if file else f"{node.manifests_directory}/kube-scheduler.yaml",
        before=file.content.decode("utf-8", "surrogateescape") if file else "",
        after=manifest.text,
        generation=None,
        health=health,
        health_before=health_of(current, node.kubelet) if current is not None else health,
        preflight=preflight_of(manifest),
        image_before=image_of(current) if current is not None else "",
        leads=leads,
        kubelet=node.kubelet,
        lease=live_scheduler(current, node).lease if current is not None else "",
    )
