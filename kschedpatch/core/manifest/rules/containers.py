"""Containers: names, images, environment, resources, and the pod's own settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedpatch.core.manifest.quantity import quantity
from kschedpatch.core.manifest.rules.downward import field_findings
from kschedpatch.core.manifest.rules.names import dns_label
from kschedpatch.core.manifest.rules.security import security_findings
from kschedpatch.core.manifest.rules.walk import containers_of, dicts
from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.finding import Finding, Path
from kschedpatch.model.grammar import (
    is_env_name,
    is_extended_resource,
    is_image,
    is_native_resource,
    is_qualified_name,
)

_ENV_FIELDS = frozenset(
    """metadata.name metadata.namespace metadata.uid spec.nodeName spec.serviceAccountName spec.host
    status.hostIP status.hostIPs status.podIP status.podIPs""".split()
)
_NO_USE = {
    "volumeDevices": "a static pod has no block devices to map",
    "lifecycle": "hooks around the scheduler keep it from starting or ending in time",
    "resizePolicy": "a static pod is not resized",
    "restartPolicyRules": "the kubelet restarts the scheduler whatever its exit code is",
}
_API_ENV = {"secretKeyRef": "a Secret", "configMapKeyRef": "a ConfigMap"}
_API_ENV_FROM = {"secretRef": "a Secret", "configMapRef": "a ConfigMap"}

_CONTAINER_CHOICES = {
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
}


def container_findings(pod: dict[str, Any], places: Places) -> Iterator[Finding]:
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        yield places.at("M005", ("spec",), "the pod has no spec")
        return
    if not spec.get("containers"):
        yield places.at("M005", ("spec", "containers"), "the pod has no containers")
    names: set[str] = set()
    for path, container in containers_of(spec):
        name = container.get("name")
        yield from dns_label(name, (*path, "name"), places)
        if isinstance(name, str):
            if name in names:
                yield places.at("M008", (*path, "name"), f"a second container named {name!r}")
            names.add(name)
        yield from _image(container, path, places)
        yield from choice_findings(container, path, _CONTAINER_CHOICES, places)
        yield from _environment(container, path, places)
        yield from _resources(container, path, places)
        yield from security_findings(container, path, places)
        yield from _forbidden(container, path, places)


def _image(container: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    image = container.get("image")
    if image is None or image == "":
        yield places.at("M005", (*path, "image"), "the container has no image")
    elif isinstance(image, str) and image != image.strip():
        yield places.at("M011", (*path, "image"), "blanks around the image's name")
    elif isinstance(image, str) and not is_image(image):
        hint = "[registry[:port]/]name[:tag][@digest], in lower case, without https://"
        yield places.at("M011", (*path, "image"), f"{image!r} can't be an image's name", hint)


def choice_findings(
    owner: dict[str, Any], path: Path, choices: dict[str, tuple[str, ...]], places: Places
) -> Iterator[Finding]:
    for key, allowed in choices.items():
        value = owner.get(key)
        # Empty is «the default» for all but one of them.
        unset = value == "" and key != "preemptionPolicy"
        if isinstance(value, str) and not unset and value not in allowed:
            message = f"{value!r} is no {key}"
            yield places.at("M011", (*path, key), message, f"one of {', '.join(allowed)}")


def _environment(container: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    for here, variable in dicts(container.get("env"), (*path, "env")):
        name, source = variable.get("name"), variable.get("valueFrom")
        if not name:
            yield places.at("M005", (*here, "name"), "the variable has no name")
        elif isinstance(name, str) and not is_env_name(name):
            hint = "letters, digits, '_', '-' and '.', no digit first"
            message = f"{name!r} can't be a variable's name"
            yield places.at("M006", (*here, "name"), message, hint)
        if isinstance(source, dict):
            if variable.get("value"):
                yield places.at("M011", here, "value and valueFrom exclude each other")
            if sum(reference is not None for reference in source.values()) != 1:
                yield places.at("M011", (*here, "valueFrom"), "valueFrom takes exactly one source")
            yield from field_findings(source, (*here, "valueFrom"), _ENV_FIELDS, places)
            if source.get("fileKeyRef") is not None:
                message = "a variable from a file in a volume is not supported here"
                yield places.at_key("M035", (*here, "valueFrom", "fileKeyRef"), message)
            for key, what in _API_ENV.items():
                if source.get(key) is not None:
                    message = f"a static pod can't read {what}"
                    yield places.at_key("M013", (*here, "valueFrom", key), message)
    for here, group in dicts(container.get("envFrom"), (*path, "envFrom")):
        for key, what in _API_ENV_FROM.items():
            if group.get(key) is not None:
                yield places.at_key("M013", (*here, key), f"a static pod can't read {what}")
        if not any(group.get(key) is not None for key in _API_ENV_FROM):
            yield places.at("M011", here, "it names no source", "remove it")


def _forbidden(container: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    """Fields that the kubelet refuses in a static pod's container, or in this kind of one."""
    for key, reason in _NO_USE.items():
        if container.get(key) not in (None, [], {}):
            yield places.at_key("M035", (*path, key), reason)
    if path[1] == "initContainers":
        always = container.get("restartPolicy") == "Always"
        for key in ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"):
            if container.get(key) is not None and not always:
                message = f"an init container has no {key} unless it restarts always"
                yield places.at_key("M011", (*path, key), message)
        if container.get("restartPolicy") not in (None, "Always"):
            message = "an init container restarts Always, or as the pod does"
            yield places.at("M011", (*path, "restartPolicy"), message)
    elif container.get("restartPolicy") is not None:
        message = "only init containers have a restartPolicy of their own"
        yield places.at_key("M011", (*path, "restartPolicy"), message)


def _resources(container: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    resources = container.get("resources")
    if not isinstance(resources, dict):
        return
    if resources.get("claims"):
        message = "a static pod can't use a ResourceClaim"
        yield places.at_key("M013", (*path, "resources", "claims"), message)
    limits = resources.get("limits")
    limits = limits if isinstance(limits, dict) else {}
    for kind in ("limits", "requests"):
        amounts = resources.get(kind)
        for name, amount in amounts.items() if isinstance(amounts, dict) else ():
            here = (*path, "resources", kind, name)
            value = quantity(amount)
            standard = {"cpu", "memory", "ephemeral-storage"}
            known = name in standard or name.startswith("hugepages-")
            own = is_native_resource(name) and is_qualified_name(name)
            if not known and not own and not is_extended_resource(name):
                hint = "cpu, memory, ephemeral-storage, or a name with a domain"
                yield places.at_key("M006", here, f"no resource {name!r}", hint)
            if value is not None and value < 0:
                yield places.at("M011", here, f"{amount} is negative")
            if name.startswith("hugepages-"):
                yield places.at("M011", here, "a scheduler has no use for huge pages")
            if value is not None and "/" in name and value != value.to_integral_value():
                yield places.at("M011", here, f"{name} is counted in whole numbers")
            bound = quantity(limits.get(name)) if kind == "requests" and name in limits else None
            if value is not None and bound is not None and value > bound:
                yield places.at("M011", here, f"the request {amount} exceeds its limit")
            if "/" in name and kind == "requests" and bound != value:
                message = f"{name} needs a limit equal to its request"
                yield places.at("M011", here, message)
