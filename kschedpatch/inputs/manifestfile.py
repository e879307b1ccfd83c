"""Reads manifests: one that a patch is for, or a whole manifests directory."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kschedpatch.core.manifest.document import Manifest, PodReading, read_manifest
from kschedpatch.core.manifest.validate import directory_findings, validate
from kschedpatch.inputs.files import NamedText, Unreadable, read_bytes, read_named
from kschedpatch.model.clusterplan import Object
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, has_errors, in_reading_order
from kschedpatch.model.kubeversion import KubeVersion

_DEPLOYMENT = "Deployment"


class LoadedManifest(NamedTuple):
    manifest: Manifest | None
    findings: tuple[Finding, ...]
    deployment: Object | None = None
    """A Deployment instead of a static pod's manifest."""


def load_manifest(name: str) -> LoadedManifest:
    """A scheduler's manifest. What makes it unusable is told as its validation tells it."""
    try:
        source = read_named(name)
    except Unreadable as error:
        return LoadedManifest(None, (error.finding(name),))
    reading = read_manifest(source.data, source.name)
    if reading.pod is not None and reading.pod.get("kind") == _DEPLOYMENT:
        return _deployment(reading, source.name)
    if reading.manifest is None or has_errors(reading.findings):
        return LoadedManifest(None, validate(reading))
    return LoadedManifest(reading.manifest, ())


def _deployment(reading: PodReading, name: str) -> LoadedManifest:
    """What `kubectl get deployment -o yaml` shows, or what somebody has written."""
    body = reading.pod or {}
    spec = body.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        wrong = found("M002", "the Deployment has no pod template", file=name)
        return LoadedManifest(None, (*reading.findings, wrong))
    return LoadedManifest(None, reading.findings, body)


def lint_manifest(source: NamedText, version: KubeVersion | None) -> tuple[Finding, ...]:
    return validate(read_manifest(source.data, source.name), version.minor if version else None)


def lint_directory(directory: Path, version: KubeVersion | None) -> tuple[Finding, ...]:
    """A manifests directory as the kubelet sees it: every file counts, whatever its ending."""
    contents: dict[str, bytes] = {}
    findings: list[Finding] = []
    for path in sorted(directory.iterdir()):
        if path.name.startswith(".") or path.is_dir():
            continue
        try:
            contents[path.name] = read_bytes(path)
        except Unreadable as error:
            findings.append(error.finding(str(path)))
    if "kube-scheduler.yaml" not in contents:
        message = "there is no kube-scheduler.yaml in it"
        findings.append(found("P006", message, file=str(directory)))
    else:
        reading = read_manifest(
            contents["kube-scheduler.yaml"], str(directory / "kube-scheduler.yaml")
        )
        findings += validate(reading, version.minor if version else None)
    findings += [
        finding._replace(file=str(directory / finding.file))
        for finding in directory_findings(contents)
    ]
    return in_reading_order(findings)
