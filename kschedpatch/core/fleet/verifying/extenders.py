"""Extenders: is each reachable from each node, by the way that the scheduler's pod would take?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from kschedpatch.core.fleet.noderules import about
from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.core.fleet.verifying.checking import checked, shortened, unchecked
from kschedpatch.core.schedconfig.extenders import service_names
from kschedpatch.model.checks import Check
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.inspection import ExtenderAsked, ExtenderLook, Inspection

_DNS = "ClusterFirstWithHostNet"
_OWN_NAMESPACE = "kube-system"
# curl's exit codes of who was not reached at all; others mean that somebody took the connection.
_UNKNOWN_HOST, _REFUSED, _TIMED_OUT = 6, 7, 28


class Extender(NamedTuple):
    url: str
    host: str
    port: int
    service: tuple[str, str] | None
    """Namespace and name, where only the cluster's DNS knows the host."""
    ignorable: bool


class ServiceAddress(NamedTuple):
    """The address by which a Service is reached; empty with the reason why there is none."""

    address: str
    problem: str = ""


Services = Mapping[tuple[str, str], ServiceAddress]


def extenders_of(config: dict[str, Any]) -> tuple[Extender, ...]:
    listed = config.get("extenders")
    found = []
    for item in listed if isinstance(listed, list) else ():
        extender = _extender(item) if isinstance(item, dict) else None
        if extender is not None:
            found.append(extender)
    return tuple(found)


def _extender(item: dict[str, Any]) -> Extender | None:
    url = item.get("urlPrefix")
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not host or any(c.isspace() for c in str(url)):
        return None
    service = None
    if service_names({"extenders": [item]}):
        name, _, rest = host.partition(".")
        service = (rest.partition(".")[0] or _OWN_NAMESPACE, name)
    port = port or (443 if parts.scheme == "https" else 80)
    return Extender(str(url), host, port, service, item.get("ignorable") is True)


def asked_extender(extender: Extender, services: Services) -> ExtenderAsked | None:
    """None where there is no address to try."""
    if extender.service is None:
        return ExtenderAsked(extender.url)
    address = services.get(extender.service, ServiceAddress("")).address
    if not address:
        return None
    shown = f"[{address}]" if ":" in address else address
    return ExtenderAsked(extender.url, f"{extender.host}:{extender.port}:{shown}")


def extender_checks(
    node: NodeFacts, config: dict[str, Any], services: Services, seen: Inspection
) -> Iterator[Check]:
    looks = {look.url: look for look in seen.extenders}
    for extender in extenders_of(config):
        yield _checked(node, extender, services, looks.get(extender.url), seen)


def _checked(
    node: NodeFacts,
    extender: Extender,
    services: Services,
    look: ExtenderLook | None,
    seen: Inspection,
) -> Check:
    subject = f"extender {extender.url}"
    way = f"{extender.host}:{extender.port}"
    if extender.service is not None:
        known = services.get(extender.service)
        name = "/".join(extender.service)
        if known is None:
            return unchecked(node.label, subject, f"nobody could be asked about Service {name}")
        if not known.address:
            message = f"Service {name}: {known.problem}"
            finding = about(node, "N139", f"{extender.url}: {message}")
            return checked(node.label, subject, message, [finding])
        manifest = manifest_of(node)
        policy = str(manifest.pod["spec"].get("dnsPolicy") or "") if manifest else _DNS
        if policy != _DNS:
            message = (
                f"its pod asks the host's resolver, which knows no Services (dnsPolicy "
                f"{policy or 'ClusterFirst'} in the host's network)"
            )
            hint = f"spec.scheduler.dnsPolicy: {_DNS}"
            finding = about(node, "N139", f"{extender.url}: {message}", hint)
            return checked(node.label, subject, message, [finding])
        servers = f", its resolver is {seen.nameservers[0]}" if seen.nameservers else ""
        way = f"{known.address}:{extender.port}, the address of Service {name}{servers}"
    if look is None or look.curl is None:
        return unchecked(node.label, subject, "without curl the node can't try")
    if look.curl in (_UNKNOWN_HOST, _REFUSED, _TIMED_OUT) and not look.status:
        said = shortened(look.said.removeprefix("curl: "), 140) or "no answer"
        message = f"not reached at {way}: {said}"
        code = "N138" if extender.ignorable else "N137"
        return checked(
            node.label, subject, message, [about(node, code, f"{extender.url}: {message}")]
        )
    answer = f"HTTP {look.status}" if look.status else f"a connection ({shortened(look.said, 80)})"
    return checked(node.label, subject, f"{answer} from {way}")
