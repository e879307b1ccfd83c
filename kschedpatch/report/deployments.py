"""Plans for schedulers that run as Deployments: for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kschedpatch.core.deployment.records import Record
from kschedpatch.core.deployment.standing import DeploymentStatus
from kschedpatch.core.objects.marks import shown
from kschedpatch.model.clusterplan import ACTS, ClusterPlan, ObjectResult
from kschedpatch.model.deploymentplan import DeploymentPlan, DeploymentTarget
from kschedpatch.report.directory import deployment_object
from kschedpatch.report.objects import change_lines, changes_data
from kschedpatch.report.plans import object_lines
from kschedpatch.report.tables import table
from kschedpatch.report.terminal import Paint, printable

if TYPE_CHECKING:
    from kschedpatch.rollout.deploymentlook import DeploymentLook
    from kschedpatch.rollout.purging import Purge, Purged


def rendered_text(plan: DeploymentPlan, paint: Paint) -> str:
    """The objects in the order in which they are applied."""
    lines: list[str] = []
    for item in (*plan.objects, deployment_object(plan)):
        lines += object_lines("apply", item, paint)
    return "".join(line + "\n" for line in lines)


def rendered_data(plan: DeploymentPlan) -> dict[str, Any]:
    return {
        "patch": plan.patch_name,
        "target": str(plan.target),
        "kubernetesVersion": str(plan.version) if plan.version else None,
        "deployment": plan.document,
        "objects": [shown(item.body) for item in plan.objects],
    }


def look_text(look: DeploymentLook, paint: Paint) -> str:
    """What changes, in the order in which it does, and how it will be proven."""
    lines = [*change_lines(whole(look), paint)][1:]
    if look.changed and look.ok:
        lines += ["", *_what_happens(look)]
    elif not lines:
        lines = [f"{printable(look.target.title)}: nothing to change"]
    return "".join(line + "\n" for line in lines)


def whole(look: DeploymentLook) -> ClusterPlan:
    own = (look.change,) if look.change is not None else ()
    return look.cluster._replace(brought=(*look.cluster.brought, *own))


def _what_happens(look: DeploymentLook) -> list[str]:
    title = printable(look.target.title)
    if look.plan is None:
        return [f"{title} goes back, and is watched until its pods are ready."]
    acts = look.change is not None and look.change.action in ACTS
    if not acts:
        return [f"Only objects change; the pods of {title} run on."]
    return [
        f"The objects come first. Then {title} is applied and watched: its old pods stay until a",
        "new one is ready, and what fails goes back to the former revision by itself.",
    ]


def look_data(look: DeploymentLook) -> dict[str, Any]:
    return {
        "target": str(look.target),
        "patch": look.plan.patch_name if look.plan else None,
        "kubernetesVersion": str(look.plan.version) if look.plan and look.plan.version else None,
        "objects": changes_data(whole(look)),
    }


def status_text(status: DeploymentStatus, paint: Paint) -> str:
    """One below the other: a row would be wider than any terminal."""
    rows = (
        ("state", status.state),
        ("pods", status.ready),
        ("patch", f"{status.patch}, by run {status.run}" if status.run else ""),
        ("leader", status.leader.rpartition("_")[0]),
        ("image", status.image),
        ("open run", f"{status.open_run} was not ended" if status.open_run else ""),
    )
    lines = [paint("bold", printable(status.target.title))]
    lines += [f"  {name.ljust(8)}  {printable(text)}" for name, text in rows if text]
    return "".join(f"{line}\n" for line in lines)


def status_data(status: DeploymentStatus) -> dict[str, Any]:
    return {
        "deployment": str(status.target),
        "exists": status.there,
        "image": status.image or None,
        "pods": status.ready or None,
        "patch": status.patch or None,
        "run": status.run or None,
        "state": status.state,
        "leader": status.leader or None,
        "openRun": status.open_run or None,
    }


def history_text(runs: Sequence[Record], paint: Paint) -> str:
    if not runs:
        return "No run is kept in the cluster.\n"
    rows = [(r.run, r.kind, r.patch or "-", r.outcome, r.who, r.reason) for r in runs]
    return table(("RUN", "KIND", "PATCH", "OUTCOME", "WHO", "REASON"), rows, paint, whole={"RUN"})


def history_data(target: DeploymentTarget, runs: Sequence[Record]) -> dict[str, Any]:
    return {
        "deployment": str(target),
        "runs": [
            {
                "run": run.run,
                "kind": run.kind,
                "when": run.when or None,
                "who": run.who,
                "reason": run.reason,
                "patch": run.patch or None,
                "outcome": run.outcome,
            }
            for run in runs
        ],
    }


def purge_text(plan: Purge) -> str:
    lines = [f"{printable(step.ref.title)}: {step.action}" for step in plan.steps]
    lines += [f"what is kept of {len(plan.runs)} runs: delete"] if plan.runs else []
    return "".join(f"{line}\n" for line in lines)


def purged_text(done: Purged) -> str:
    lines = [f"{printable(item.title)}: {_told(item)}" for item in done.results]
    if done.left:
        left = ", ".join(printable(title) for title in done.left)
        lines.append(f"Still there: {left}. {printable(done.detail)}")
    return "".join(f"{line}\n" for line in lines)


def _told(item: ObjectResult) -> str:
    return f"{item.action}: {printable(item.why)}" if item.why else str(item.action)


def purged_data(done: Purged) -> dict[str, Any]:
    return {
        "objects": [
            {"object": item.title, "action": str(item.action), "why": item.why or None}
            for item in done.results
        ],
        "leftovers": list(done.left),
        "detail": done.detail or None,
    }
