"""A manifest as a value: its bytes, its nodes, the pod, and the scheduler's container in it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, NamedTuple

from kschedpatch.core.yamltext.jsontext import json_value, starts_as_json
from kschedpatch.core.yamltext.nodes import Mapping, Node, same, value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import read
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, Path, has_errors
from kschedpatch.model.kubeversion import KubeVersion, version_of_image

PATCH_ANNOTATION = "kschedpatch.io/patch"
GENERATION_ANNOTATION = "kschedpatch.io/generation"
BASE_ANNOTATION = "kschedpatch.io/base"

_WRAPPERS = frozenset({"sh", "bash", "ash", "dash", "env", "busybox", "tini", "dumb-init", "nice"})


class Manifest(NamedTuple):
    """A manifest that can be spliced: one document, one pod, a scheduler in it."""

    file: str
    text: str
    root: Mapping
    container_index: int

    @property
    def pod(self) -> dict[str, Any]:
        """A fresh copy, the caller's to change."""
        pod: dict[str, Any] = value_of(self.root)
        return pod

    @property
    def places(self) -> Places:
        return Places(self.file, self.root)

    @property
    def version(self) -> KubeVersion | None:
        image = self.pod["spec"]["containers"][self.container_index].get("image")
        return version_of_image(image) if isinstance(image, str) else None

    @property
    def annotations(self) -> dict[str, Any]:
        return self.pod.get("metadata", {}).get("annotations") or {}

    @property
    def is_patched(self) -> bool:
        return BASE_ANNOTATION in self.annotations


class PodReading(NamedTuple):
    """A pod that may or may not be a scheduler's, as far as it could be read."""

    places: Places
    pod: dict[str, Any] | None
    manifest: Manifest | None
    findings: tuple[Finding, ...]


def read_manifest(data: bytes, file: str) -> PodReading:
    reading = read(data)
    findings = [finding.in_file(file) for finding in reading.findings]
    if reading.documents:
        refused = has_errors(findings)
        findings += _json_findings(reading.text, reading.documents[0], file, refused=refused)
    if not reading.documents:
        if not has_errors(findings):
            findings.append(found("Y014", "the file is empty", file=file))
        return PodReading(Places(file, None), None, None, tuple(findings))
    root = reading.documents[0]
    places = Places(file, root)
    if len(reading.documents) > 1:
        line = reading.documents[1].line + 1
        findings.append(found("Y013", _second_document(reading.documents[1]), file=file, line=line))
    if not isinstance(root, Mapping):
        empty = value_of(root) is None
        code, message = ("Y014", "the file is empty") if empty else ("Y016", "not a mapping")
        findings.append(places.at(code, (), message))
        return PodReading(places, None, None, tuple(findings))
    pod: dict[str, Any] = value_of(root)
    manifest = None
    index = scheduler_index(pod)
    if index is not None and not has_errors(findings):
        manifest = Manifest(file, reading.text, root, index)
    return PodReading(places, pod, manifest, tuple(findings))


def _json_findings(text: str, root: Node, file: str, *, refused: bool) -> list[Finding]:
    """The kubelet takes a text that starts with a brace for JSON, whatever YAML makes of it."""
    if not starts_as_json(text):
        return []
    hint = "use block style"
    try:
        value = json_value(text)
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        return [found("Y019", "it starts with { but is no JSON", file=file, line=line, hint=hint)]
    except RecursionError:
        return []  # the reader has refused it already
    if not refused and not same(value, value_of(root)):
        message = "as JSON, which it is to the kubelet, it means something else than as YAML"
        return [
            found("Y019", message, file=file, line=1, hint="write whole numbers without a point")
        ]
    return []


def _second_document(node: Any) -> str:
    value = value_of(node)
    kind = value.get("kind") if isinstance(value, dict) else None
    what = f" ({kind})" if isinstance(kind, str) and kind.isalnum() else ""
    return f"a second document{what}: the kubelet reads only the first"


def scheduler_index(pod: dict[str, Any]) -> int | None:
    """The container that runs the scheduler: by its name, else by its command."""
    spec = pod.get("spec")
    containers = spec.get("containers") if isinstance(spec, dict) else None
    if not isinstance(containers, list):
        return None
    for index, container in enumerate(containers):
        if isinstance(container, dict) and container.get("name") == "kube-scheduler":
            return index
    for index, container in enumerate(containers):
        if isinstance(container, dict) and _program(container) == "kube-scheduler":
            return index
    return None


def _program(container: dict[str, Any]) -> str:
    words = container.get("command") or container.get("args") or []
    first = words[0] if isinstance(words, list) and words else ""
    return PurePosixPath(first).name if isinstance(first, str) else ""


def is_wrapped(container: dict[str, Any]) -> bool:
    """The scheduler's flags are hidden in some other program's command line."""
    return _program(container) in _WRAPPERS


def identity_findings(pod: dict[str, Any], places: Places) -> list[Finding]:
    kind, version = pod.get("kind"), pod.get("apiVersion")
    if kind != "Pod" or version != "v1":
        shown = f"{version}, {kind}" if kind or version else "nothing"
        message = f"a v1 Pod is needed here, this is {shown}"
        hint = "are -f and --manifest swapped?" if kind == "SchedulerPatch" else ""
        where: Path = ("kind",) if kind != "Pod" else ("apiVersion",)
        return [places.at("M001", where, message, hint)]
    findings = []
    metadata = pod.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if metadata.get("namespace") != "kube-system":
        message = "the scheduler's pod is in the namespace kube-system"
        findings.append(places.at("M002", ("metadata", "namespace"), message))
    if metadata.get("name") != "kube-scheduler":
        message = "the scheduler's pod is named kube-scheduler"
        findings.append(places.at("M002", ("metadata", "name"), message))
    if scheduler_index(pod) is None:
        message = "no container runs kube-scheduler"
        findings.append(places.at("M002", ("spec", "containers"), message))
    return findings
