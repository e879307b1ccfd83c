"""How a scheduler's Deployment stands: for `status`, and for the checks of `verify`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kschedpatch.core.deployment import records
from kschedpatch.core.deployment.former import runs_as
from kschedpatch.core.deployment.progress import hosts_of
from kschedpatch.core.deployment.records import Record
from kschedpatch.core.fleet.verifying.checking import checked, several, unchecked
from kschedpatch.core.objects import marks
from kschedpatch.core.objects.marks import PATCH_LABEL
from kschedpatch.core.objects.readiness import Verdict
from kschedpatch.core.objects.troubles import pod_trouble
from kschedpatch.core.yamltext import emit
from kschedpatch.model.checks import Check
from kschedpatch.model.clusterplan import ACTS, ClusterPlan, Object, ObjectChange
from kschedpatch.model.codes import found
from kschedpatch.model.deploymentplan import DeploymentTarget


class DeploymentStatus(NamedTuple):
    target: DeploymentTarget
    there: bool
    image: str = ""
    ready: str = ""
    """``1 of 1``, or what is missing."""
    patch: str = ""
    run: str = ""
    state: str = ""
    """as left, changed since, never patched, gone."""
    leader: str = ""
    open_run: str = ""


def status_of(
    target: DeploymentTarget,
    live: Object | None,
    verdict: Verdict | None,
    runs: Sequence[Record],
    leader: str = "",
) -> DeploymentStatus:
    last = records.in_force(runs)
    ended = records.open_ones(runs)
    open_run = ended[0].run if ended else ""
    if live is None:
        gone = "gone" if last is not None and last.after is not None else "never made"
        return DeploymentStatus(target, there=False, state=gone, open_run=open_run)
    containers = (((live.get("spec") or {}).get("template") or {}).get("spec") or {}).get(
        "containers"
    ) or [{}]
    status = live.get("status") or {}
    count = f"{status.get('readyReplicas') or 0} of {(live.get('spec') or {}).get('replicas', 1)}"
    told = count if verdict is None or verdict.ready else f"{count}: {verdict.told}"
    run = marks.note_of(live, marks.RUN)
    return DeploymentStatus(
        target,
        there=True,
        image=str(containers[0].get("image") or ""),
        ready=told,
        patch=str((live["metadata"].get("labels") or {}).get(PATCH_LABEL, "")) if run else "",
        run=run,
        state=_state(live, last),
        leader=leader,
        open_run=open_run,
    )


def _state(live: Object, last: Record | None) -> str:
    if last is None:
        return "never patched"
    return "as left" if runs_as(live, last.after) else "changed since"


# verify.


def standing_checks(
    target: DeploymentTarget,
    live: Object | None,
    verdict: Verdict | None,
    pods: Iterable[Object],
) -> Iterator[Check]:
    if live is None or verdict is None:
        message = f"there is no {target.title}"
        yield checked("", target.title, message, [found("N087", message)])
        return
    troubles = [text for text in map(pod_trouble, pods) if text]
    if verdict.ready:
        names = several(sorted(str(pod["metadata"]["name"]) for pod in pods))
        yield checked("", "pods", f"all ready: {names}" if names else "all ready")
    else:
        message = several([verdict.told, *troubles])
        finding = found("N151", f"{target.title}: {message}")
        yield checked("", "pods", message, [finding], troubles)


def kept_checks(target: DeploymentTarget, live: Object, last: Record | None) -> Iterator[Check]:
    """Against what the last run has left."""
    subject = "pod template"
    if last is None:
        yield unchecked("", subject, "no run of kschedpatch is kept: give a patch with -f")
        return
    if runs_as(live, last.after):
        yield checked("", subject, f"as run {last.run} has left it")
        return
    message = f"it is not as run {last.run} has left it"
    lines = _lines(_template(last.after or {}), _template(live))
    finding = found("N152", f"{target.title}: {message}", hint="kschedpatch apply puts it right")
    yield checked("", subject, message, [finding], lines)


def asked_checks(change: ObjectChange | None, cluster: ClusterPlan) -> Iterator[Check]:
    """Against a patch."""
    if change is None:
        return  # why nothing could be planned is a finding already
    steps = [change, *cluster.brought]
    for step in steps:
        subject = step.ref.title
        if step.action not in ACTS:
            yield checked("", subject, "as the patch asks")
            continue
        message = "it is not there" if step.live is None else "it is not as the patch asks"
        after = step.after or step.body or {}
        lines = [] if marks.is_secret(after) else _lines(step.live or {}, after)
        finding = found("N152", f"{step.ref.title}: {message}", hint="kschedpatch apply")
        yield checked("", subject, message, [finding], lines)


def lease_checks(lease: str, holder: str | None, pods: Iterable[Object]) -> Iterator[Check]:
    """``holder`` is None where nobody could be asked."""
    if not lease:
        return
    subject = f"lease {lease}"
    if holder is None:
        yield unchecked("", subject, "the API server does not answer")
        return
    hosts = hosts_of(pods)
    if holder.rpartition("_")[0] in hosts:
        yield checked("", subject, f"held by {holder}")
        return
    message = f"held by {holder}, which is none of its pods" if holder else "nobody holds it"
    yield checked("", subject, message, [found("N153", f"{subject}: {message}")])


def _template(body: Object) -> Any:
    return (body.get("spec") or {}).get("template") or {}


def _lines(old: Any, new: Any) -> list[str]:
    before, after = (emit.document(value).splitlines() if value else [] for value in (old, new))
    return list(difflib.unified_diff(before, after, "as left", "now", n=1, lineterm=""))[2:]
