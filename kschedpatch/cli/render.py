"""``render``: the patched manifest and all that comes with it, without a node."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kschedpatch.cli import options
from kschedpatch.cli.options import Format

if TYPE_CHECKING:
    from kschedpatch.model.plan import Plan


def render(
    manifest: Annotated[
        str,
        typer.Option(metavar="FILE", help="The node's kube-scheduler.yaml; - is standard input."),
    ],
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
    """Render a patch against a manifest, offline: diff, files and RBAC objects.

    Exit code 0: rendered; 2: there are errors, and nothing was written.
    """
    from kschedpatch.inputs.manifestfile import load_manifest
    from kschedpatch.inputs.rendering import rendered
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.directory import target_problem
    from kschedpatch.report.findings import finding_lines, summary
    from kschedpatch.report.plans import plan_data, plan_text
    from kschedpatch.report.terminal import complain, paint_for

    version = options.parsed_version(kubernetes_version)
    flags = options.quick_flags(
        image, image_archive, binary, config, mount, device_plugins, arg, rbac
    )
    if [file, manifest, base].count("-") > 1:
        options.refuse("only one file can be standard input.")
    problem = target_problem(out, force=force) if out is not None else ""
    if problem:
        options.refuse(f"{problem} Nothing was written.")
    result = rendered(
        options.loaded_patch(file, recipe, flags),
        load_manifest(manifest),
        load_manifest(base) if base is not None else None,
        version,
    )
    plan = result.plan
    ok = plan is not None and plan.ok
    data = plan_data(plan) if plan is not None and ok else {}
    outcome = Outcome("RenderResult", result.findings, bool(plan and ok and plan.changed), data)
    if output is Format.TABLE and result.findings:
        paint = paint_for(sys.stderr)
        complain(finding_lines(result.findings, paint) + summary(result.findings, paint))
    if outcome.exit_code or plan is None:
        if output is Format.TABLE:
            complain("Nothing was written.")
        options.show(outcome, output, lambda _: "")
    if out is not None:
        text = _written(plan, out)
        options.show(outcome, output, lambda _: text)
    options.show(outcome, output, lambda paint: plan_text(plan, manifest, paint))


def _written(plan: Plan, out: Path) -> str:
    from kschedpatch.report.directory import WriteError, write_plan
    from kschedpatch.report.terminal import printable

    try:
        return "".join(f"{printable(str(path))}\n" for path in write_plan(plan, out))
    except WriteError as error:
        options.refuse(f"{error}. What is in {out} is not complete.")
