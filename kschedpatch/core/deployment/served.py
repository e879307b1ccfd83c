"""Which scheduler names are served by whom: two that serve one name work against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kschedpatch.core.fleet.verifying.expectations import DEFAULT, config_value, profiles_of
from kschedpatch.core.manifest.document import scheduler_index
from kschedpatch.core.manifest.flags import effective
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.schedconfig.election import Election, election
from kschedpatch.model.clusterplan import Object
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding

STOCK = "the stock scheduler"
STOCK_LEASE = "kube-system/kube-scheduler"


class Serving(NamedTuple):
    """A scheduler of the cluster."""

    title: str
    profiles: tuple[str, ...]
    lease: str
    """``namespace/name``; empty where it elects nobody."""
    known: bool = True
    """Its configuration could be read; otherwise the default profile is taken for granted."""


def names_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(profile["schedulerName"]) for profile in profiles_of(dict(config)))


def beside_stock(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with the stock scheduler's profile: probe pods may be for that as well."""
    profiles = [*profiles_of(dict(config))]
    if DEFAULT not in names_of(config):
        profiles.append({"schedulerName": DEFAULT})
    return {**config, "profiles": profiles}


def lease_of(config: Mapping[str, Any], flags: Mapping[str, str]) -> str:
    chosen = election(config, flags)
    return f"{chosen.namespace}/{chosen.name}" if chosen.enabled else ""


def serving(title: str, pod_spec: Any, config: bytes | None) -> Serving | None:
    """By a pod's spec and the text that its --config names; None: it runs no scheduler."""
    index = scheduler_index({"spec": pod_spec})
    if index is None:
        return None
    flags = effective(pod_spec["containers"][index])
    if "config" not in flags:
        return Serving(title, (DEFAULT,), lease_of({}, flags))
    value = config_value(config)
    if not value:
        return Serving(title, (DEFAULT,), lease_of({}, flags), known=False)
    return Serving(title, names_of(value), lease_of(value, flags))


def config_source(pod_spec: Any) -> tuple[str, str] | None:
    """ConfigMap and key of what --config names, where it comes from one."""
    index = scheduler_index({"spec": pod_spec})
    if index is None:
        return None
    container = pod_spec["containers"][index]
    path = effective(container).get("config", "")
    sources = {v.get("name"): v.get("configMap") for v in pod_spec.get("volumes") or ()}
    for mount in container.get("volumeMounts") or ():
        place, source = str(mount.get("mountPath")).rstrip("/"), sources.get(mount.get("name"))
        if not isinstance(source, dict) or not path.startswith(place):
            continue
        inside = "/".join(filter(None, (mount.get("subPath"), path[len(place) :].lstrip("/"))))
        keys = {item.get("path"): item.get("key") for item in source.get("items") or ()}
        return str(source.get("name")), str(keys.get(inside, inside))
    return None


def text_in(config_map: Object | None, key: str) -> bytes | None:
    text = ((config_map or {}).get("data") or {}).get(key)
    return text.encode() if isinstance(text, str) else None


def served_findings(
    title: str, names: Iterable[str], lease: str, others: Iterable[Serving]
) -> Iterator[Finding]:
    """Schedulers on one lease take turns, so that these do not count."""
    wanted = set(names)
    for other in others:
        if lease and other.lease == lease:
            continue
        shared = sorted(wanted & set(other.profiles))
        if shared:
            message = f"{other.title} already serves {', '.join(shared)}"
            hint = "give the profiles names of their own (schedulerName)"
            yield found("N083", f"{title}: {message}", hint=hint)
        if not other.known:
            message = f"the configuration of {other.title} can't be seen from here"
            yield found("N084", message, hint="name the control-plane nodes: they know it")


def lease_findings(title: str, lease: str, before: Serving | None) -> Iterator[Finding]:
    """Old and new pods take turns on one lease; on two they all schedule while it rolls out."""
    if before is None or lease == before.lease:
        return
    now, then = (where or "none" for where in (lease, before.lease))
    message = f"{title}: its lease would be {now}, and is {then}"
    yield found("N090", message, hint="leave leaderElection out of the configuration")


def second_findings(
    given: PatchInput, names: tuple[str, ...], chosen: Election
) -> Iterator[Finding]:
    """What a second scheduler must not share with the stock one, and needs for itself."""
    at = given.places.at
    if DEFAULT in names:
        message = f"a second scheduler that serves {DEFAULT} works against the stock one"
        hint = "give every profile a schedulerName of its own"
        yield at("P015", ("spec", "config"), message, hint)
    if chosen.enabled:
        if f"{chosen.namespace}/{chosen.name}" == STOCK_LEASE:
            message = f"{STOCK_LEASE} is the stock scheduler's lease"
            yield at("P015", ("spec", "config"), message, "leave out resourceName")
        return
    replicas = given.patch.spec.scheduler.replicas or 1
    if replicas > 1:
        message = f"{replicas} replicas without leader election would all schedule"
        yield at("P014", ("spec", "scheduler", "replicas"), message)
    else:
        message = "without leader election old and new pod both schedule for a moment"
        yield at("P017", ("spec",), message)


def could_be_second(given: PatchInput, config: Mapping[str, Any]) -> Iterator[Finding]:
    """A patch for the static pod that leaves the default profile as it is, or leaves it out."""
    profiles = profiles_of(dict(config))
    own = [p["schedulerName"] for p in profiles if p["schedulerName"] != DEFAULT]
    plain = all(p.keys() == {"schedulerName"} for p in profiles if p["schedulerName"] == DEFAULT)
    if own and plain:
        message = f"{', '.join(own)} could be served by a second scheduler beside the stock one"
        hint = f"target: {{newDeployment: kube-system/{given.patch.metadata.name}}}"
        yield given.places.at("P018", ("spec", "config"), message, hint)
