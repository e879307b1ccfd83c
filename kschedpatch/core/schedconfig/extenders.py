"""Extenders: what they can do to scheduling, and names that only the cluster's DNS resolves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from kschedpatch.core.manifest.mounts import is_mounted
from kschedpatch.core.schedconfig.read import ConfigText
from kschedpatch.model.finding import Finding, Path

_VERBS = ("filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb")
_TLS_FILES = ("certFile", "keyFile", "caFile")


def _extenders(config: ConfigText) -> list[dict[str, Any]]:
    return config.value.get("extenders") or []


def extender_findings(config: ConfigText, mounted: tuple[str, ...] | None) -> Iterator[Finding]:
    """``mounted`` are the container's mount paths; None where no manifest is known."""
    managed: set[str] = set()
    binders = 0
    for index, extender in enumerate(_extenders(config)):
        path: Path = ("extenders", index)
        if extender.get("bindVerb"):
            binders += 1
            if binders == 2:
                message = "a second extender with a bindVerb"
                yield config.at("C007", (*path, "bindVerb"), message)
        resources = extender.get("managedResources")
        resources = resources if isinstance(resources, list) else []
        for at, resource in enumerate(resources):
            name = resource.get("name") if isinstance(resource, dict) else None
            if isinstance(name, str) and name in managed:
                here = (*path, "managedResources", at, "name")
                yield config.at("C008", here, f"{name} is managed twice")
            managed.add(str(name))
        if not any(extender.get(verb) for verb in _VERBS):
            message = "it has no verb, so it is never called"
            yield config.at("C011", path, message, "filterVerb: filter, for example")
        elif not resources and extender.get("ignorable") is not True:
            message = f"while {extender.get('urlPrefix')} is down, no pod is scheduled"
            yield config.at("C010", path, message, "ignorable: true, or managedResources")
        tls = extender.get("tlsConfig")
        tls = tls if isinstance(tls, dict) and mounted is not None else {}
        for key in _TLS_FILES:
            name = tls.get(key)
            if isinstance(name, str) and name and not is_mounted(name, mounted or ()):
                here = (*path, "tlsConfig", key)
                yield config.at("C013", here, f"no mount brings {name} into the container")


_TOP_LEVEL = frozenset(
    [
        "com",
        "net",
        "org",
        "io",
        "dev",
        "local",
        "internal",
        "lan",
        "corp",
        "home",
        "cloud",
        "app",
        "ai",
        "tech",
    ]
)


def service_names(value: dict[str, Any]) -> tuple[str, ...]:
    """Hosts of extenders that only the cluster's own DNS can resolve."""
    hosts = []
    extenders = value.get("extenders")
    for extender in extenders if isinstance(extenders, list) else ():
        prefix = extender.get("urlPrefix") if isinstance(extender, dict) else None
        try:
            host = urlsplit(prefix).hostname if isinstance(prefix, str) else None
        except ValueError:
            host = None
        if host and _is_service_name(host):
            hosts.append(host)
    return tuple(dict.fromkeys(hosts))


def _is_service_name(host: str) -> bool:
    if ":" in host:
        return False  # an IPv6 address
    labels = host.rstrip(".").split(".")
    if "svc" in labels[2:3]:
        return True  # name.namespace.svc[.cluster.local]
    # name.namespace: a second label that is no top-level domain anybody uses.
    last = labels[-1]
    if len(labels) == 1:
        return last not in {"", "localhost"}  # a Service of the pod's own namespace
    return len(labels) == 2 and last.isascii() and len(last) > 2 and last not in _TOP_LEVEL
