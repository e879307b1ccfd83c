"""``render``: the patched manifest and all that comes with it, without a node."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kschedpatch.cli import options
from kschedpatch.cli.options import Format

if TYPE_CHECKING:
    from kschedpatch.inputs.rendering import Rendered
    from kschedpatch.model.deploymentplan import DeploymentPlan
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.model.patch import SchedulerPatch
    from kschedpatch.model.plan import Plan


def render(
    manifest: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The node's kube-scheduler.yaml, or the Deployment; - is standard input. "
            "A new Deployment needs none.",
        ),
    ] = None,
    file: options.File = None,
    recipe: options.RecipeName = None,
    base: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The manifest from before, if it is patched already."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the files there instead of showing them."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into DIR although it is not empty.")
    ] = False,
    kubernetes_version: options.Version = None,
    output: options.Output = Format.TABLE,
    image: options.Image = None,
    image_archive: options.ImageArchive = None,
    binary: options.Binary = None,
    config: options.Config = None,
    mount: options.Mounts = None,
    device_plugins: options.DevicePlugins = False,
    arg: options.Args = None,
    rbac: options.RbacFiles = None,
) -> None:
    """Render a patch against a manifest, offline: diff, files and objects.

    Exit code 0: rendered; 2: there are errors, and nothing was written.
    """
    from kschedpatch.inputs.manifestfile import load_manifest
    from kschedpatch.inputs.rendering import rendered, rendered_deployment
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.plans import plan_data, plan_text

    version = options.parsed_version(kubernetes_version)
    flags = options.quick_flags(
        image, image_archive, binary, config, mount, device_plugins, arg, rbac
    )
    if [file, manifest, base].count("-") > 1:
        options.refuse("only one file can be standard input.")
    if out is not None:
        options.check_target(out, force=force)
    patch = options.loaded_patch(file, recipe, flags)
    if patch.given is not None and _is_for_deployment(patch.given.patch):
        if base is not None:
            options.refuse("--base goes with the manifest of a static pod.")
        found = load_manifest(manifest) if manifest is not None else None
        _show_deployment(rendered_deployment(patch, found, version), out, output)
    if manifest is None:
        options.refuse("--manifest FILE is missing: the node's kube-scheduler.yaml.")
    result = rendered(
        patch,
        load_manifest(manifest),
        load_manifest(base) if base is not None else None,
        version,
    )
    plan = result.plan
    ok = plan is not None and plan.ok
    data = plan_data(plan) if plan is not None and ok else {}
    outcome = Outcome("RenderResult", result.findings, bool(plan and ok and plan.changed), data)
    if plan is None or outcome.exit_code:
        _give_up(outcome, output)
    _tell(outcome, output)
    if out is not None:
        text = _written(plan, out)
        options.show(outcome, output, lambda _: text)
    options.show(outcome, output, lambda paint: plan_text(plan, manifest, paint))


def _is_for_deployment(patch: SchedulerPatch) -> bool:
    return bool(patch.spec.target.deployment or patch.spec.target.new_deployment)


def _tell(outcome: Outcome, output: Format) -> None:
    from kschedpatch.report.findings import finding_lines, summary
    from kschedpatch.report.terminal import complain, paint_for

    if output is Format.TABLE and outcome.findings:
        paint = paint_for(sys.stderr)
        complain(finding_lines(outcome.findings, paint) + summary(outcome.findings, paint))


def _give_up(outcome: Outcome, output: Format) -> NoReturn:
    from kschedpatch.report.terminal import complain

    _tell(outcome, output)
    if output is Format.TABLE:
        complain("Nothing was written.")
    options.show(outcome, output, lambda _: "")


def _show_deployment(result: Rendered, out: Path | None, output: Format) -> NoReturn:
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.deployments import rendered_data, rendered_text

    plan = result.deployment
    data = rendered_data(plan) if plan is not None and plan.ok else {}
    outcome = Outcome("RenderResult", result.findings, bool(data), data)
    if plan is None or outcome.exit_code:
        _give_up(outcome, output)
    _tell(outcome, output)
    if out is not None:
        text = _written(plan, out)
        options.show(outcome, output, lambda _: text)
    options.show(outcome, output, lambda paint: rendered_text(plan, paint))


def _written(plan: Plan | DeploymentPlan, out: Path) -> str:
    from kschedpatch.model.deploymentplan import DeploymentPlan
    from kschedpatch.report.directory import WriteError, write_deployment, write_plan
    from kschedpatch.report.terminal import printable

    try:
        if isinstance(plan, DeploymentPlan):
            written = write_deployment(plan, out)
        else:
            written = write_plan(plan, out)
        return "".join(f"{printable(str(path))}\n" for path in written)
    except WriteError as error:
        options.refuse(f"{error}. What is in {out} is not complete.")
