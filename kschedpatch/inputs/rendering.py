"""render, from loaded inputs to a plan."""

from __future__ import annotations

from typing import NamedTuple

from kschedpatch.core.manifest.base import choose_base
from kschedpatch.core.planner import plan_static_pod
from kschedpatch.inputs.loading import LoadedPatch
from kschedpatch.inputs.manifestfile import LoadedManifest
from kschedpatch.model.finding import Finding, in_reading_order
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.plan import Plan


class Rendered(NamedTuple):
    plan: Plan | None
    findings: tuple[Finding, ...]


def rendered(
    patch: LoadedPatch,
    current: LoadedManifest,
    base: LoadedManifest | None,
    version: KubeVersion | None,
) -> Rendered:
    """Every input's mistakes together; a plan only where there are none."""
    findings = [*patch.findings, *current.findings, *(base.findings if base else ())]
    broken_base = base is not None and base.manifest is None
    if patch.given is None or current.manifest is None or broken_base:
        return Rendered(None, in_reading_order(findings))
    choice = choose_base(current.manifest, base.manifest if base else None)
    if choice.base is None:
        return Rendered(None, in_reading_order((*findings, *choice.findings)))
    plan = plan_static_pod(patch.given, choice.base, current=current.manifest, version=version)
    return Rendered(plan, in_reading_order((*findings, *plan.findings)))
