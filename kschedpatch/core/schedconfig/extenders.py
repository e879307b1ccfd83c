"""Extenders: what they can do to scheduling, and names that only the cluster's DNS resolves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from kschedpatch.core.manifest.mounts import is_mounted
from kschedpatch.core.schedconfig.merge import Sets
from kschedpatch.core.schedconfig.surroundings import Decoded
from kschedpatch.core.schedconfig.tls import client_tls
from kschedpatch.model.finding import Finding, Path
from kschedpatch.model.grammar import is_extended_resource

_VERBS = ("filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb")


def extender_findings(decoded: Decoded) -> Iterator[Finding]:
    """What is looked at when the configuration is read."""
    for code, path, message in extender_problems(decoded.extenders):
        yield decoded.at(code, path, message)


def extender_problems(
    extenders: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, Path, str]]:
    """(code, path, message), of a configuration's extenders or a Policy's."""
    managed: set[str] = set()
    binders = 0
    for index, extender in enumerate(extenders):
        path: Path = ("extenders", index)
        if extender.get("prioritizeVerb") and extender.get("weight", 0) <= 0:
            message = "an extender with a prioritizeVerb needs a positive weight"
            yield "C033", (*path, "weight"), message
        if extender.get("bindVerb"):
            binders += 1
            if binders == 2:
                message = "a second extender with a bindVerb"
                yield "C007", (*path, "bindVerb"), message
        for at, resource in enumerate(extender.get("managedResources") or ()):
            name = resource.get("name", "")
            here = (*path, "managedResources", at, "name")
            if not is_extended_resource(name):
                message = f"{name!r} is no extended resource (vendor.example.com/name)"
                yield "C033", here, message
            if name in managed:
                yield "C008", here, f"{name} is managed twice"
            managed.add(name)


def ignored_resources(decoded: Decoded) -> list[str]:
    """What extenders take from the scheduler: it replaces NodeResourcesFit's own list."""
    return [
        resource.get("name", "")
        for extender in decoded.extenders
        for resource in extender.get("managedResources") or ()
        if resource.get("ignoredByScheduler")
    ]


def built_extender_findings(decoded: Decoded, sets: Sequence[Sets]) -> Iterator[Finding]:
    """What is looked at when the scheduler builds its clients for them."""
    mounted = decoded.around.mounted
    for index, extender in enumerate(decoded.extenders):
        path: Path = ("extenders", index, "tlsConfig")
        client = client_tls(extender)
        for key, message in client.problems:
            yield decoded.at("C033", (*path, key), message)
        if client.unverified:
            message = "HTTPS without a CA: the scheduler believes whoever answers"
            hint = "tlsConfig.caFile, or `insecure: true` if that is meant"
            yield decoded.at("C039", ("extenders", index, "enableHTTPS"), message, hint)
        tls = extender.get("tlsConfig") or {}
        for key in client.files:
            if mounted is not None and not is_mounted(tls[key], mounted):
                message = f"no mount brings {tls[key]} into the container"
                yield decoded.at("C013", (*path, key), message)
            elif mounted is None:
                message = f"{tls[key]} must be there in the container when the scheduler starts"
                yield decoded.at("C040", (*path, key), message)
    if ignored_resources(decoded):
        yield from _needs_fit(decoded, sets)


def _needs_fit(decoded: Decoded, sets: Sequence[Sets]) -> Iterator[Finding]:
    fit = "NodeResourcesFit"
    for index, (profile, own) in enumerate(zip(decoded.profiles, sets, strict=True)):
        settings = profile.get("pluginConfig") or ()
        configured = any(item.get("name") == fit for item in settings)
        if not configured and not any(fit in chosen.names for chosen in own.values()):
            message = f"ignoredByScheduler needs {fit}, which this profile does not have"
            hint = f"enable {fit}, or name it in the profile's pluginConfig"
            yield decoded.at("C033", ("profiles", index), message, hint)


def called_findings(decoded: Decoded) -> Iterator[Finding]:
    """What the scheduler takes, and people do not mean."""
    for index, extender in enumerate(decoded.extenders):
        path: Path = ("extenders", index)
        if not any(extender.get(verb) for verb in _VERBS):
            message = "it has no verb, so it is never called"
            yield decoded.at("C011", path, message, "filterVerb: filter, for example")
        elif not extender.get("managedResources") and not extender.get("ignorable"):
            message = f"while {extender.get('urlPrefix')} is down, no pod is scheduled"
            yield decoded.at("C010", path, message, "ignorable: true, or managedResources")


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
