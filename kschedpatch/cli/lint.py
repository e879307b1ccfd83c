"""``lint``: what is wrong, before anything is touched."""

from __future__ import annotations

from typing import Annotated

import typer

from kschedpatch.cli import options
from kschedpatch.cli.options import Format


def lint(
    file: Annotated[
        str | None,
        typer.Option(
            "-f",
            "--file",
            metavar="FILE",
            help="A SchedulerPatch, a KubeSchedulerConfiguration, a Policy, a kube-scheduler "
            "manifest, or a manifests directory; - is standard input.",
        ),
    ] = None,
    recipe: options.RecipeName = None,
    manifest: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The manifest (of a static pod, or a Deployment) that it is for."
        ),
    ] = None,
    kubernetes_version: options.Version = None,
    known_plugins: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Plugins of the scheduler's image beside Kubernetes' own: any other is an error.",
        ),
    ] = None,
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
    """Check a patch, a scheduler configuration or a manifest, offline.

    Exit code 0: no errors (warnings may be shown); 2: there are errors.
    """
    from kschedpatch.inputs.linting import lint_loaded, lint_path
    from kschedpatch.model.finding import in_reading_order
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.findings import finding_lines, summary

    version = options.parsed_version(kubernetes_version)
    known = None
    if known_plugins is not None:
        known = tuple(name.strip() for name in known_plugins.split(",") if name.strip())
    flags = options.quick_flags(
        image, image_archive, binary, config, mount, device_plugins, arg, rbac
    )
    if manifest is not None and file is None and recipe is None and not flags.given:
        options.refuse("--manifest goes with a patch. To check the manifest itself: lint -f FILE.")
    if file == "-" and manifest == "-":
        options.refuse("only one file can be standard input.")
    loaded = None
    if manifest is not None:
        from kschedpatch.inputs.manifestfile import load_manifest

        loaded = load_manifest(manifest)
    pod, deployment = (loaded.manifest, loaded.deployment) if loaded else (None, None)
    if file is not None and recipe is None:
        findings = lint_path(file, flags, pod, version, known, deployment)
    else:
        patch = options.loaded_patch(file, recipe, flags)
        findings = lint_loaded(patch, pod, version, known, deployment)
    findings = in_reading_order((*findings, *(loaded.findings if loaded else ())))
    outcome = Outcome("LintResult", findings)
    options.show(
        outcome, output, lambda paint: finding_lines(findings, paint) + summary(findings, paint)
    )
