"""render, from loaded inputs to a plan."""

from __future__ import annotations

from typing import NamedTuple

from kschedpatch.core.manifest.base import choose_base
from kschedpatch.core.offline import NOT_A_POD
from kschedpatch.core.planner import plan_static_pod
from kschedpatch.inputs.loading import LoadedPatch
from kschedpatch.inputs.manifestfile import LoadedManifest
from kschedpatch.model.deploymentplan import DeploymentPlan
from kschedpatch.model.finding import Finding, has_errors, in_reading_order
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.plan import Plan


class Rendered(NamedTuple):
    plan: Plan | None
    findings: tuple[Finding, ...]
    deployment: DeploymentPlan | None = None
    """Instead of a plan for the static pod."""


def rendered(
    patch: LoadedPatch,
    current: LoadedManifest,
    base: LoadedManifest | None,
    version: KubeVersion | None,
) -> Rendered:
    """Every input's mistakes together; a plan only where there are none."""
    findings = [*patch.findings, *current.findings, *(base.findings if base else ())]
    if patch.given is not None and current.deployment is not None:
        message = "the patch is for the static pod, and --manifest is a Deployment"
        findings.append(patch.given.places.at("P009", ("spec", "target"), message))
    broken_base = base is not None and base.manifest is None
    if patch.given is None or current.manifest is None or broken_base:
        return Rendered(None, in_reading_order(findings))
    choice = choose_base(current.manifest, base.manifest if base else None)
    if choice.base is None:
        return Rendered(None, in_reading_order((*findings, *choice.findings)))
    plan = plan_static_pod(patch.given, choice.base, current=current.manifest, version=version)
    return Rendered(plan, in_reading_order((*findings, *plan.findings)))


def rendered_deployment(
    patch: LoadedPatch, manifest: LoadedManifest | None, version: KubeVersion | None
) -> Rendered:
    """For a patch whose target is a Deployment: somebody's, from its manifest, or a new one."""
    from kschedpatch.core.deployment.planning import Around, plan_deployment, target_of

    findings = [*patch.findings, *(manifest.findings if manifest else ())]
    target = target_of(patch.given.patch) if patch.given is not None else None
    if patch.given is None or target is None:
        return Rendered(None, in_reading_order(findings))
    at = patch.given.places.at
    base = manifest.deployment if manifest is not None else None
    if manifest is not None and manifest.manifest is not None:
        findings.append(at("P009", ("spec", "target"), NOT_A_POD))
    elif target.is_new and manifest is not None:
        message = "a new Deployment is made of the patch alone"
        findings.append(at("P009", ("spec", "target"), message, "leave out --manifest"))
    elif not target.is_new and base is None and not has_errors(findings):
        hint = f"kubectl get deployment {target.name} -n {target.namespace} -o yaml > FILE"
        message = f"{target.title}: its manifest is needed (--manifest FILE)"
        findings.append(at("P009", ("spec", "target"), message, hint))
    if has_errors(findings):
        return Rendered(None, in_reading_order(findings))
    plan = plan_deployment(patch.given, Around(base=base, version=version))
    return Rendered(None, in_reading_order((*findings, *plan.findings)), plan)
