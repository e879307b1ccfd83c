"""Settings of the pod as a whole: policies, names, tolerations, and fields of no use to it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from kschedpatch.core.manifest.rules.containers import choice_findings
from kschedpatch.core.manifest.rules.security import security_findings
from kschedpatch.core.manifest.rules.walk import dicts, strings
from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.finding import Finding, Path
from kschedpatch.model.grammar import (
    is_dns_label,
    is_dns_subdomain,
    is_label_value,
    is_qualified_name,
)

_CHOICES = {
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "preemptionPolicy": ("PreemptLowerPriority", "Never"),
}
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_API_REFERENCES = {
    "serviceAccountName": ("a ServiceAccount", "the scheduler uses scheduler.conf"),
    "serviceAccount": ("a ServiceAccount", "the scheduler uses scheduler.conf"),
    "imagePullSecrets": ("a Secret", "give the credentials to the container runtime"),
    "resourceClaims": ("a ResourceClaim", ""),
}
_NO_USE_IN_SPEC = {
    "schedulingGates": "nobody schedules a static pod, so nobody opens its gates",
    "ephemeralContainers": "a pod can't start with ephemeral containers",
    "nodeSelector": "nobody schedules a static pod: it runs where its file is",
    "affinity": "nobody schedules a static pod: it runs where its file is",
    "topologySpreadConstraints": "nobody schedules a static pod: it runs where its file is",
    "readinessGates": "nobody would set the condition, and the pod never become ready",
    "hostnameOverride": "the pod has the host's name",
    "activeDeadlineSeconds": "the kubelet would end the scheduler after this time",
    "overhead": "only a RuntimeClass sets it",
}
_NO_USE_IN_METADATA = {
    "finalizers": "nobody would remove them",
    "ownerReferences": "the kubelet makes the node the owner",
    "deletionTimestamp": "the kubelet would end the pod",
    "generation": "the API server counts it",
    "generateName": "the pod has a name",
    "managedFields": "the API server keeps them",
}
_MIRROR = "kubernetes.io/config.mirror"
_KUBELET_ANNOTATIONS = (
    "container.apparmor.security.beta.kubernetes.io/",
    "seccomp.security.alpha.kubernetes.io/",
    "container.seccomp.security.alpha.kubernetes.io/",
    "controller.kubernetes.io/pod-deletion-cost",
    "scheduler.alpha.kubernetes.io/",
)


def setting_findings(pod: dict[str, Any], places: Places) -> Iterator[Finding]:
    yield from _metadata(pod, places)
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return
    yield from choice_findings(spec, ("spec",), _CHOICES, places)
    yield from security_findings(spec, ("spec",), places)
    for key, (what, hint) in _API_REFERENCES.items():
        if spec.get(key):
            message = f"a static pod can't use {what}"
            yield places.at_key("M013", ("spec", key), message, hint)
    for key, reason in _NO_USE_IN_SPEC.items():
        if spec.get(key) not in (None, [], {}):
            yield places.at_key("M035", ("spec", key), reason)
    yield from _lifetime(spec, places)
    yield from _names(spec, places)
    yield from _dns(spec, places)
    yield from _tolerations(spec, places)


def _metadata(pod: dict[str, Any], places: Places) -> Iterator[Finding]:
    metadata = pod.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    for key, reason in _NO_USE_IN_METADATA.items():
        if metadata.get(key):
            yield places.at_key("M035", ("metadata", key), reason)
    annotations = metadata.get("annotations")
    for key in annotations if isinstance(annotations, dict) else ():
        here = ("metadata", "annotations", key)
        if key == _MIRROR:
            message = "the kubelet would take the pod for a mirror of itself"
            yield places.at_key("M035", here, message, "this is the output of kubectl get")
        elif key.startswith(_KUBELET_ANNOTATIONS):
            yield places.at_key("M035", here, "say it with the field of the pod instead")


def _lifetime(spec: dict[str, Any], places: Places) -> Iterator[Finding]:
    grace = spec.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace < 0:
        message = f"{grace} s leave the scheduler no time to release its lease"
        yield places.at("M035", ("spec", "terminationGracePeriodSeconds"), message)
    if spec.get("restartPolicy") in ("Never", "OnFailure"):
        message = "a scheduler that ends would not be started again"
        yield places.at("M035", ("spec", "restartPolicy"), message, "Always, or remove it")


def _names(spec: dict[str, Any], places: Places) -> Iterator[Finding]:
    for key in ("hostname", "subdomain"):
        value = spec.get(key)
        if isinstance(value, str) and value and not is_dns_label(value):
            yield places.at("M006", ("spec", key), f"{value!r} can't be a {key}")
    for key in ("priorityClassName", "runtimeClassName"):
        value = spec.get(key)
        empty_is_wrong = key == "runtimeClassName"
        if isinstance(value, str) and (value or empty_is_wrong) and not is_dns_subdomain(value):
            yield places.at("M006", ("spec", key), f"{value!r} can't be a class's name")
    system = spec.get("os")
    if isinstance(system, dict) and system.get("name") != "linux":
        yield places.at("M011", ("spec", "os"), "a control-plane node runs linux", "name: linux")
    if spec.get("hostUsers") is False and any(
        spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")
    ):
        message = "hostUsers: false excludes hostNetwork, hostPID and hostIPC"
        yield places.at("M011", ("spec", "hostUsers"), message)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        message = "shareProcessNamespace and hostPID exclude each other"
        yield places.at("M011", ("spec", "shareProcessNamespace"), message)
    for here, alias in dicts(spec.get("hostAliases"), ("spec", "hostAliases")):
        yield from _address(alias.get("ip"), (*here, "ip"), places)
        for at, name in strings(alias.get("hostnames"), (*here, "hostnames")):
            if not is_dns_subdomain(name):
                yield places.at("M006", at, f"{name!r} can't be a host's name")


def _dns(spec: dict[str, Any], places: Places) -> Iterator[Finding]:
    config = spec.get("dnsConfig")
    config = config if isinstance(config, dict) else {}
    servers = config.get("nameservers")
    servers = servers if isinstance(servers, list) else []
    path: Path = ("spec", "dnsConfig")
    if spec.get("dnsPolicy") == "None" and not servers:
        message = "dnsPolicy None needs dnsConfig.nameservers"
        yield places.at("M005", ("spec", "dnsPolicy"), message)
    if len(servers) > 3:
        yield places.at("M011", (*path, "nameservers"), "at most three name servers")
    for index, server in enumerate(servers):
        yield from _address(server, (*path, "nameservers", index), places)
    searches = list(strings(config.get("searches"), (*path, "searches")))
    if len(searches) > 32 or sum(len(name) + 1 for _, name in searches) > 2049:
        yield places.at("M011", (*path, "searches"), "at most 32 domains and 2048 characters")
    for here, name in searches:
        if not is_dns_subdomain(name.removesuffix(".")):
            yield places.at("M006", here, f"{name!r} can't be a search domain")
    for here, option in dicts(config.get("options"), (*path, "options")):
        if not option.get("name"):
            yield places.at("M005", (*here, "name"), "the option has no name")


def _address(text: Any, path: Path, places: Places) -> Iterator[Finding]:
    try:
        zoned = "%" in str(ipaddress.ip_address(text))
    except ValueError:
        zoned = True
    if zoned:  # fe80::1%eth0 is an address to Python only
        yield places.at("M011", path, f"{text!r} is no IP address")


def _tolerations(spec: dict[str, Any], places: Places) -> Iterator[Finding]:
    for here, item in dicts(spec.get("tolerations"), ("spec", "tolerations")):
        key, operator = item.get("key") or "", item.get("operator") or "Equal"
        value, effect = item.get("value") or "", item.get("effect") or ""
        if key and not is_qualified_name(str(key)):
            yield places.at("M006", (*here, "key"), f"{key!r} can't be a taint's name")
        if operator not in ("Equal", "Exists"):
            yield places.at("M011", (*here, "operator"), "Equal or Exists")
        if not key and operator != "Exists":
            yield places.at("M011", here, "without a key the operator is Exists")
        if operator == "Exists" and value:
            yield places.at("M011", (*here, "value"), "Exists takes no value")
        if isinstance(value, str) and not is_label_value(value):
            yield places.at("M006", (*here, "value"), f"{value!r} can't be a taint's value")
        if effect and effect not in _EFFECTS:
            hint = f"one of {', '.join(_EFFECTS)}"
            yield places.at("M011", (*here, "effect"), f"no effect {effect!r}", hint)
        if item.get("tolerationSeconds") is not None and effect != "NoExecute":
            yield places.at("M011", here, "tolerationSeconds goes with NoExecute")
