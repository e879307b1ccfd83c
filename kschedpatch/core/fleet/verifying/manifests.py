"""Manifest, generation and configuration: as the last run left them, or as the patch asks."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

from kschedpatch.core.fleet.noderules import about
from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.core.fleet.standing import (
    Drift,
    changes,
    changes_told,
    drift_of,
    last_confirmed,
)
from kschedpatch.core.fleet.verifying.checking import checked, unchecked
from kschedpatch.core.fleet.verifying.expectations import planned_config
from kschedpatch.core.manifest.document import GENERATION_ANNOTATION
from kschedpatch.model.checks import Check
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.fleetplan import NodePlan


def manifest_checks(
    node: NodeFacts, wanted: NodePlan | None, kept: bytes | None, *, against_patch: bool
) -> Iterator[Check]:
    """``wanted`` is what a patch makes of the node: the one at hand, or the one that is kept.
    Only in the first case the manifest is compared with it byte for byte; otherwise with what
    the last run left, which another version of this program may have planned otherwise."""
    if against_patch:
        yield _against_plan(node, wanted)
    else:
        yield _against_history(node, kept)
    yield from _generation(node)
    yield from _config(node, wanted, against_patch=against_patch)


def _path(node: NodeFacts) -> str:
    return node.manifest.path if node.manifest is not None else node.manifests_directory


def _against_plan(node: NodeFacts, wanted: NodePlan | None) -> Check:
    if wanted is None:
        return unchecked(node.label, "manifest", "nothing could be planned for this node")
    if not wanted.changed:
        return checked(node.label, "manifest", "as the patch asks, byte for byte")
    message = changes_told(wanted.before, wanted.after)
    finding = about(node, "N108", message, "kschedpatch apply makes it so", _path(node))
    lines = changes(wanted.before, wanted.after)
    evidence = f"{_lines(len(lines))} from what the patch asks"
    return checked(node.label, "manifest", evidence, [finding], lines)


def _against_history(node: NodeFacts, kept: bytes | None) -> Check:
    drift, revision, path = drift_of(node), last_confirmed(node), _path(node)
    subject = "manifest"
    if drift is Drift.NO_MANIFEST:
        hint = f"kschedpatch rollback {node.label}" if node.leftovers else ""
        finding = about(node, "N102", "there is no manifest", hint, path)
        return checked(node.label, subject, "there is none", [finding])
    if drift is Drift.OPEN:
        return unchecked(node.label, subject, "a run is open on this node")
    if revision is None:
        if drift is Drift.EDITED:
            message = "it is patched by no run that the node keeps"
            return checked(node.label, subject, message, [about(node, "N102", message, path=path)])
        message = "no run of kschedpatch is kept here"
        note = about(node, "N109", message, path=path)
        return unchecked(node.label, subject, message, [note])
    if drift is Drift.WIPED:
        message = (
            f"the patch {revision.patch or revision.run} is gone: kubeadm, or somebody, has "
            "written the manifest anew"
        )
        finding = about(node, "N101", message, "kschedpatch apply brings it back", path)
        return checked(node.label, subject, "the patch is gone from it", [finding])
    if drift is Drift.EDITED:
        return _edited(node, kept, revision.run)
    evidence = f"as run {revision.run} left it"
    return checked(node.label, subject, evidence if drift is Drift.AS_LEFT else "un-patched")


def _edited(node: NodeFacts, kept: bytes | None, run: str) -> Check:
    message, lines = f"it is not as run {run} left it", []
    if kept is not None and node.manifest is not None:
        before, now = (text.decode("utf-8", "replace") for text in (kept, node.manifest.content))
        lines = changes(before, now)
        message += f": {changes_told(before, now)}"
    hint = "kschedpatch apply or rollback puts it in order"
    finding = about(node, "N102", message, hint, _path(node))
    evidence = f"{_lines(len(lines))} from what run {run} left" if lines else message
    return checked(node.label, "manifest", evidence, [finding], lines)


def _lines(count: int) -> str:
    return "1 line differs" if count == 1 else f"{count} lines differ"


def _generation(node: NodeFacts) -> Iterator[Check]:
    if node.generation_problem:
        # The manifest is as it should be: an apply alone would find nothing to do.
        hint = "kschedpatch rollback and then apply, on all nodes, stage them anew"
        finding = about(node, "N103", node.generation_problem, hint)
        yield checked(node.label, "generation", node.generation_problem, [finding])
        return
    manifest = manifest_of(node)
    name = str(manifest.annotations.get(GENERATION_ANNOTATION) or "") if manifest else ""
    if name:
        yield checked(node.label, "generation", f"{name}: every file has its hash")


def _config(node: NodeFacts, wanted: NodePlan | None, *, against_patch: bool) -> Iterator[Check]:
    planned = planned_config(wanted)
    if wanted is None or planned is None:
        return
    manifest = manifest_of(node)
    name = str(manifest.annotations.get(GENERATION_ANNOTATION) or "") if manifest else ""
    if not against_patch and wanted.generation and wanted.generation.id != name:
        return  # planned by other rules than these: whether it is intact, its hashes tell
    if node.live_config is None:
        why = "no scheduler runs" if node.live is None else "its --config names nothing to be read"
        yield unchecked(node.label, "config", why)
        return
    if node.live_config == planned:
        yield checked(node.label, "config", "the container sees what the patch makes")
        return
    now, asked = (
        text.decode("utf-8", "replace").splitlines() for text in (node.live_config, planned)
    )
    diff = list(unified_diff(now, asked, n=0, lineterm=""))[2:]
    lines = [line for line in diff if not line.startswith("@@")]
    shown = " │ ".join(" ".join(line.split()) for line in lines[:4])
    more = f" … and {len(lines) - 4} more lines" if len(lines) > 4 else ""
    finding = about(node, "N125", shown + more, "kschedpatch apply makes it so")
    evidence = f"{_lines(len(lines))} from what the patch makes"
    yield checked(node.label, "config", evidence, [finding], lines)
