"""Volumes, mounts and the paths behind them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from kschedpatch.core.manifest.podschema import fields_of
from kschedpatch.core.manifest.quantity import quantity
from kschedpatch.core.manifest.rules.downward import field_findings
from kschedpatch.core.manifest.rules.names import dns_label
from kschedpatch.core.manifest.rules.walk import containers_of, dicts
from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.finding import Finding, Path

MANIFESTS_DIRECTORY = "/etc/kubernetes/manifests"

HOST_PATH_TYPES = (
    "", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice",
    "BlockDevice",
)  # fmt: skip

# Sources that need the API server or a plugin of it; a static pod has neither.
_API_SOURCES = {
    "configMap": "a ConfigMap",
    "secret": "a Secret",
    "persistentVolumeClaim": "a PersistentVolumeClaim",
    "csi": "a CSI driver",
    "ephemeral": "an ephemeral claim",
    "azureFile": "a Secret",
    "glusterfs": "an Endpoints object",
}
_DOWNWARD_FIELDS = frozenset(
    """metadata.name metadata.namespace metadata.uid metadata.labels metadata.annotations""".split()
)
_LOCAL_SOURCES = ("hostPath", "emptyDir", "downwardAPI")
_SECRET_REFS = ("secretRef", "nodePublishSecretRef", "secretName")


def volume_findings(pod: dict[str, Any], places: Places) -> Iterator[Finding]:
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return
    names: dict[str, Path] = {}
    for path, volume in dicts(spec.get("volumes"), ("spec", "volumes")):
        name = volume.get("name")
        yield from dns_label(name, (*path, "name"), places)
        if isinstance(name, str):
            if name in names:
                yield places.at("M008", (*path, "name"), f"a second volume named {name!r}")
            names[name] = path
        yield from _source_findings(volume, path, places)
    mounted: set[str] = set()
    for path, container in containers_of(spec):
        yield from _mount_findings(container, path, set(names), mounted, places)
    for name, path in names.items():
        if name not in mounted:
            yield places.at("M015", (*path, "name"), f"no container mounts the volume {name!r}")


def _source_findings(volume: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    sources = [key for key, value in volume.items() if key != "name" and value is not None]
    if not sources:
        # The kubelet makes an emptyDir of it: a lost or misspelt source is never meant that way.
        yield places.at("M005", path, "the volume has no source", "hostPath, or emptyDir: {}")
    if len(sources) > 1:
        yield places.at("M011", path, f"a volume has one source, this has {' and '.join(sources)}")
    for source in sources:
        if source in _API_SOURCES:
            message = f"a static pod can't mount {_API_SOURCES[source]}"
            yield places.at_key("M013", (*path, source), message, "use a hostPath instead")
            continue
        if source not in _LOCAL_SOURCES and source in _volume_sources():
            message = f"a scheduler's volume is a hostPath or an emptyDir, not {source}"
            yield places.at_key("M035", (*path, source), message)
        if isinstance(volume[source], dict):
            yield from _reference_findings(volume[source], (*path, source), places)
    host_path = volume.get("hostPath")
    if isinstance(host_path, dict):
        yield from _host_path_findings(volume, host_path, (*path, "hostPath"), places)


def _volume_sources() -> frozenset[str]:
    return frozenset(fields_of("Volume"))


def _reference_findings(source: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    for key in _SECRET_REFS:
        if source.get(key):
            yield places.at_key("M013", (*path, key), "a static pod can't use a Secret")
    yield from _downward_findings(source, path, places)
    limit = source.get("sizeLimit")
    if path[-1] == "emptyDir" and (limit is not None and (quantity(limit) or 0) < 0):
        yield places.at("M011", (*path, "sizeLimit"), f"{limit} is negative")
    if path[-1] != "projected":
        return
    for item_path, item in dicts(source.get("sources"), (*path, "sources")):
        for key in item:
            if key != "downwardAPI" and item[key] is not None:
                message = f"a static pod can't project a {key}"
                yield places.at_key("M013", (*item_path, key), message, "use a hostPath instead")


def _downward_findings(source: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    if path[-1] != "downwardAPI":
        return
    modes = [((*path, "defaultMode"), source.get("defaultMode"))]
    for here, item in dicts(source.get("items"), (*path, "items")):
        modes.append(((*here, "mode"), item.get("mode")))
        name = item.get("path")
        if not name:
            yield places.at("M005", (*here, "path"), "the file's path is missing")
        elif isinstance(name, str) and (name.startswith(("/", "..")) or ".." in name.split("/")):
            yield places.at("M010", (*here, "path"), f"{name!r} must stay below the volume")
        if (item.get("fieldRef") is None) == (item.get("resourceFieldRef") is None):
            yield places.at("M011", here, "fieldRef or resourceFieldRef, one of them")
        yield from field_findings(item, here, _DOWNWARD_FIELDS, places)
        resource = item.get("resourceFieldRef")
        if isinstance(resource, dict) and not resource.get("containerName"):
            message = "a volume must say whose resource it shows"
            yield places.at("M005", (*here, "resourceFieldRef", "containerName"), message)
    for here, mode in modes:
        if isinstance(mode, int) and not 0 <= mode <= 0o777:
            yield places.at("M011", here, f"{mode} is no file mode (0 to 0777)")


def _host_path_findings(
    volume: dict[str, Any], host_path: dict[str, Any], path: Path, places: Places
) -> Iterator[Finding]:
    where, kind = host_path.get("path"), host_path.get("type")
    if not where:
        yield places.at("M005", (*path, "path"), "the path on the host is missing")
    elif isinstance(where, str):
        yield from path_findings(where, (*path, "path"), places)
        if is_below(where, MANIFESTS_DIRECTORY):
            message = f"{where} lies in the kubelet's manifests directory"
            hint = "the kubelet tries to run every file there as a pod: keep it elsewhere"
            yield places.at("M018", (*path, "path"), message, hint)
    if isinstance(kind, str) and kind not in HOST_PATH_TYPES:
        known = ", ".join(name for name in HOST_PATH_TYPES if name)
        yield places.at("M011", (*path, "type"), f"no hostPath type {kind!r}", f"one of {known}")
    if kind == "FileOrCreate" and where != "/etc/kubernetes/scheduler.conf":
        message = f"if {where} is missing, an empty file is made and the scheduler crash-loops"
        yield places.at("M016", (*path, "type"), message, "File fails with a clear message")
    if not kind:
        message = f"the volume {volume.get('name')!r} does not say whether {where} is a file"
        yield places.at("M017", path, message, "type: File, or type: Directory")


def path_findings(text: str, path: Path, places: Places) -> Iterator[Finding]:
    """An absolute path without surprises."""
    if not text.startswith("/"):
        yield places.at("M010", path, f"{text!r} is not an absolute path")
    if ".." in PurePosixPath(text).parts:
        yield places.at("M010", path, f"{text!r} goes up with '..'")
    if "\0" in text or "\n" in text:
        yield places.at("M010", path, f"{text!r} holds a line break or NUL")


def is_below(path: str, directory: str) -> bool:
    return PurePosixPath(path).is_relative_to(directory)


def _mount_findings(
    container: dict[str, Any], path: Path, volumes: set[str], mounted: set[str], places: Places
) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for here, mount in dicts(container.get("volumeMounts"), (*path, "volumeMounts")):
        name, where = mount.get("name"), mount.get("mountPath")
        if not name:
            yield places.at("M005", (*here, "name"), "the mount names no volume")
        elif isinstance(name, str):
            mounted.add(name)
            if name not in volumes:
                hint = "add it to spec.volumes"
                yield places.at("M007", (*here, "name"), f"there is no volume {name!r}", hint)
        if not where:
            yield places.at("M005", (*here, "mountPath"), "the path in the container is missing")
        elif isinstance(where, str):
            yield from _mount_path_findings(where, (*here, "mountPath"), places)
            if where in seen:
                message = f"{where} is mounted twice ({seen[where]} and {name})"
                yield places.at("M009", (*here, "mountPath"), message)
            seen[where] = str(name)
        yield from _sub_path_findings(mount, here, places)
        yield from _propagation_findings(mount, container, here, places)
    yield from _hidden_findings(seen, (*path, "volumeMounts"), places)


def _mount_path_findings(where: str, path: Path, places: Places) -> Iterator[Finding]:
    yield from path_findings(where, path, places)
    if ":" in where:
        yield places.at("M010", path, f"{where!r} holds a colon")


def _sub_path_findings(mount: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    if mount.get("subPath") and mount.get("subPathExpr"):
        yield places.at("M011", path, "subPath and subPathExpr exclude each other")
    for key in ("subPath", "subPathExpr"):
        value = mount.get(key)
        if isinstance(value, str) and (value.startswith("/") or ".." in value.split("/")):
            message = f"{value!r} must be relative and stay below the volume"
            yield places.at("M010", (*path, key), message)


def _propagation_findings(
    mount: dict[str, Any], container: dict[str, Any], path: Path, places: Places
) -> Iterator[Finding]:
    propagation = mount.get("mountPropagation")
    if propagation not in (None, "None", "HostToContainer", "Bidirectional"):
        hint = "None, HostToContainer or Bidirectional"
        here = (*path, "mountPropagation")
        yield places.at("M011", here, f"no propagation {propagation!r}", hint)
    context = container.get("securityContext")
    privileged = isinstance(context, dict) and context.get("privileged") is True
    if propagation == "Bidirectional" and not privileged:
        message = "Bidirectional is for privileged containers only"
        yield places.at("M011", (*path, "mountPropagation"), message)
    recursive = mount.get("recursiveReadOnly")
    if recursive not in (None, "Disabled", "IfPossible", "Enabled"):
        yield places.at("M011", (*path, "recursiveReadOnly"), f"{recursive!r} is not possible")
    elif recursive in ("IfPossible", "Enabled") and (
        mount.get("readOnly") is not True or propagation not in (None, "None")
    ):
        message = "recursiveReadOnly goes with readOnly: true and no propagation"
        yield places.at("M011", (*path, "recursiveReadOnly"), message)


def _hidden_findings(mounts: dict[str, str], path: Path, places: Places) -> Iterator[Finding]:
    """A directory mounted over the place of another mount's file hides what the image has there.

    The runtime mounts the outer one first, so both work; people rarely mean it."""
    for inner in mounts:
        outer = next((str(p) for p in PurePosixPath(inner).parents if str(p) in mounts), "/")
        if outer != "/":
            message = f"{inner} lies inside {outer}, which is mounted as well"
            yield places.at("M033", path, message)
