"""Judges a whole manifest as the kubelet would, and more strictly where the kubelet is silent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedpatch.core.manifest.document import PodReading, identity_findings, read_manifest
from kschedpatch.core.manifest.podschema import schema_findings
from kschedpatch.core.manifest.rules.containers import container_findings
from kschedpatch.core.manifest.rules.names import metadata_findings
from kschedpatch.core.manifest.rules.podsettings import setting_findings
from kschedpatch.core.manifest.rules.ports import port_findings
from kschedpatch.core.manifest.rules.scheduler import scheduler_findings
from kschedpatch.core.manifest.rules.volumes import volume_findings
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import read
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, in_reading_order

_CONFIGURATIONS = ("KubeSchedulerConfiguration", "Policy")


def pod_findings(pod: dict[str, Any], minor: int | None, places: Places) -> tuple[Finding, ...]:
    """Every rule, on a pod of any kind."""
    return (
        *schema_findings(pod, minor, places),
        *metadata_findings(pod, places),
        *container_findings(pod, places),
        *setting_findings(pod, places),
        *volume_findings(pod, places),
        *port_findings(pod, places),
        *scheduler_findings(pod, minor, places),
    )


def judge(pod: dict[str, Any], minor: int | None, places: Places) -> tuple[Finding, ...]:
    """Is it a scheduler's pod, and would it run?"""
    identity = identity_findings(pod, places)
    if any(finding.code == "M001" for finding in identity):
        return tuple(identity)
    return (*identity, *_without_echoes(pod_findings(pod, minor, places)))


def validate(reading: PodReading, minor: int | None = None) -> tuple[Finding, ...]:
    """All findings of a manifest. The minor comes from the image's tag unless it is given."""
    findings = list(reading.findings)
    if reading.pod is not None:
        version = reading.manifest.version if reading.manifest else None
        if minor is None and version is not None and version.is_known:
            minor = version.minor
        findings += judge(reading.pod, minor, reading.places)
    return in_reading_order(findings)


def _without_echoes(findings: tuple[Finding, ...]) -> list[Finding]:
    """A misspelt list of mounts or volumes is one mistake: what follows from it is left out."""
    misspelt = any(finding.code == "M003" and finding.hint in _LOST_LISTS for finding in findings)
    return [f for f in findings if not (misspelt and f.code in {"C013", "M007", "M015"})]


_LOST_LISTS = {"did you mean volumeMounts?", "did you mean volumes?"}


def directory_findings(directory: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """What the files of a manifests directory do to each other, by their names."""
    return (*competing_findings(directory), *misplaced_findings(directory))


def competing_findings(directory: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """Files of a manifests directory that define the scheduler's pod beside the real one.

    The kubelet reads every regular file whose name has no leading dot, whatever its ending, and
    of two that define one pod the last in the order of names wins.
    """
    defining = [
        name
        for name in sorted(directory)
        if not name.startswith(".") and _defines_scheduler(directory[name], name)
    ]
    if len(defining) < 2:
        return ()
    return tuple(
        found(
            "M026",
            f"{name} defines the pod kube-scheduler as well; the kubelet runs {defining[-1]}",
            file=name,
            hint="move it out of the directory",
        )
        for name in defining
        if name != "kube-scheduler.yaml"
    )


def misplaced_findings(directory: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """A scheduler's configuration among the manifests: write-ups keep it there, and the kubelet
    tries to run it as a pod, again and again."""
    return tuple(
        found(
            "M018",
            f"{name} is a {kind}, and the kubelet tries to run every file there as a pod",
            file=name,
            hint="keep it elsewhere",
        )
        for name, kind in ((name, _kind(directory[name])) for name in sorted(directory))
        if not name.startswith(".") and kind in _CONFIGURATIONS
    )


def _kind(data: bytes) -> str:
    documents = read(data).documents
    value = value_of(documents[0]) if documents else None
    return str(value.get("kind", "")) if isinstance(value, dict) else ""


def _defines_scheduler(data: bytes, name: str) -> bool:
    pod = read_manifest(data, name).pod or {}
    metadata = pod.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    same_name = metadata.get("name") == "kube-scheduler"
    return same_name and metadata.get("namespace") == "kube-system"
