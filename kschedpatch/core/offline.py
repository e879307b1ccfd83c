"""Judges a patch or a configuration without a node, as far as that is possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedpatch.core.clusterobjects import object_files, rbac_for, twice
from kschedpatch.core.kubeversions import image_is_stock
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.schedconfig.checks import Surroundings
from kschedpatch.core.schedconfig.election import election
from kschedpatch.core.schedconfig.judge import judge, judge_config
from kschedpatch.core.schedconfig.read import config_text
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, in_reading_order
from kschedpatch.model.kubeversion import KubeVersion, unsupported

if TYPE_CHECKING:
    from kschedpatch.core.manifest.document import Manifest
    from kschedpatch.model.clusterplan import Object

NOT_A_POD = "the patch is for a Deployment, and --manifest is the manifest of a static pod"
_FOR_DEPLOYMENTS = "the patch is for the static pod, and --manifest is a Deployment"


def lint_patch(
    given: PatchInput,
    manifest: Manifest | None,
    version: KubeVersion | None,
    known_plugins: tuple[str, ...] | None = None,
    deployment: Object | None = None,
) -> tuple[Finding, ...]:
    """With a manifest, what its plan finds; without one, what patch and files alone show."""
    target = given.patch.spec.target
    if target.deployment or target.new_deployment:
        return _lint_deployment(given, manifest, version, known_plugins, deployment)
    if deployment is not None:
        return (given.places.at("P009", ("spec", "target"), _FOR_DEPLOYMENTS),)
    if manifest is not None:
        # The planner costs half of the start-up; most lints do without a manifest.
        from kschedpatch.core.manifest.base import choose_base
        from kschedpatch.core.planner import plan_static_pod

        choice = choose_base(manifest, None)
        if choice.base is None:
            return choice.findings
        plan = plan_static_pod(given, choice.base, version=version, known_plugins=known_plugins)
        return plan.findings
    findings = [*_unknown_version(version)]
    config, problems = config_text(given)
    findings += problems
    scheduler = given.patch.spec.scheduler
    own = scheduler.image_archive or scheduler.binary
    stock = not own and (scheduler.image is None or image_is_stock(scheduler.image))
    chosen = election(config.value if config else {}, {})
    if config is not None:
        around = Surroundings(
            _minor(version),
            stock_image=stock,
            known_plugins=known_plugins,
            may_be_completed=True,
        )
        findings += judge_config(config, around)
    rbac, objects = rbac_for(given, version, chosen), object_files(given)
    doubled = twice((*rbac.objects, *objects.objects))
    return in_reading_order((*findings, *rbac.findings, *objects.findings, *doubled))


def _lint_deployment(
    given: PatchInput,
    manifest: Manifest | None,
    version: KubeVersion | None,
    known_plugins: tuple[str, ...] | None,
    deployment: Object | None,
) -> tuple[Finding, ...]:
    from kschedpatch.core.deployment.planning import Around, plan_deployment

    if manifest is not None:
        return (given.places.at("P009", ("spec", "target"), NOT_A_POD),)
    around = Around(base=deployment, version=version, known_plugins=known_plugins)
    found_ones = plan_deployment(given, around).findings
    # A version is good to have here, and needed only where something is rendered.
    return tuple(finding for finding in found_ones if finding.code != "V002")


def lint_config(
    data: bytes,
    file: str,
    manifest: Manifest | None,
    version: KubeVersion | None,
    known_plugins: tuple[str, ...] | None = None,
) -> tuple[Finding, ...]:
    """A bare configuration; a manifest adds its flags, mounts, image and version."""
    around = Surroundings(_minor(version), known_plugins=known_plugins)
    if manifest is not None:
        from kschedpatch.core.manifest.flags import effective
        from kschedpatch.core.manifest.mounts import mount_paths

        container = manifest.pod["spec"]["containers"][manifest.container_index]
        around = Surroundings(
            minor=_minor(version or manifest.version),
            flags=effective(container),
            stock_image=image_is_stock(str(container.get("image"))),
            mounted=mount_paths(container),
            known_plugins=known_plugins,
        )
    return in_reading_order((*_unknown_version(version), *judge(data, file, around)))


def _minor(version: KubeVersion | None) -> int | None:
    return version.minor if version is not None and version.is_known else None


def _unknown_version(version: KubeVersion | None) -> list[Finding]:
    if version is None or version.is_known:
        return []
    return [found("V001", unsupported(version))]
