"""Ports and probes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kschedpatch.core.manifest.rules.walk import containers_of, dicts
from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.finding import Finding, Path

_PORT_NAME = re.compile(r"(?=[a-z0-9-]{1,15}$)(?=.*[a-z])(?!.*--)[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_HANDLERS = ("exec", "grpc", "httpGet", "tcpSocket")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_NOT_NEGATIVE = (
    "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
    "failureThreshold",
)  # fmt: skip

#: What else listens on a control-plane node of kubeadm's.
NODE_PORTS = {
    2379: "etcd", 2380: "etcd", 2381: "etcd", 6443: "kube-apiserver", 10248: "the kubelet",
    10249: "kube-proxy", 10250: "the kubelet", 10256: "kube-proxy",
    10257: "kube-controller-manager",
}  # fmt: skip


def is_port(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 65535


def is_port_name(text: str) -> bool:
    return _PORT_NAME.fullmatch(text) is not None


def port_findings(pod: dict[str, Any], places: Places) -> Iterator[Finding]:
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return
    taken: dict[tuple[str, str, int], Path] = {}
    for path, container in containers_of(spec):
        names: set[str] = set()
        for here, port in dicts(container.get("ports"), (*path, "ports")):
            yield from _port(port, here, bool(spec.get("hostNetwork")), names, places)
            yield from _clash(port, here, bool(spec.get("hostNetwork")), taken, places)
        for probe in PROBES:
            if isinstance(container.get(probe), dict):
                yield from _probe(container[probe], (*path, probe), probe, places)


def _port(
    port: dict[str, Any], path: Path, host_network: bool, names: set[str], places: Places
) -> Iterator[Finding]:
    number, host, name = port.get("containerPort"), port.get("hostPort"), port.get("name")
    if number is None:
        yield places.at("M005", (*path, "containerPort"), "the port's number is missing")
    elif isinstance(number, int) and not is_port(number):
        yield places.at("M011", (*path, "containerPort"), f"{number} is no port")
    if isinstance(host, int) and host != 0:
        if not is_port(host):
            yield places.at("M011", (*path, "hostPort"), f"{host} is no port")
        elif host_network and isinstance(number, int) and host != number:
            message = "with hostNetwork, hostPort and containerPort are the same"
            yield places.at("M011", (*path, "hostPort"), message)
    if isinstance(name, str) and name:
        if not is_port_name(name):
            hint = "at most 15 lower-case letters, digits and single dashes, a letter among them"
            yield places.at("M006", (*path, "name"), f"{name!r} can't be a port's name", hint)
        if name in names:
            yield places.at("M008", (*path, "name"), f"a second port named {name!r}")
        names.add(name)
    if port.get("protocol") not in (None, "", "TCP", "UDP", "SCTP"):
        yield places.at("M011", (*path, "protocol"), "no such protocol", "TCP, UDP or SCTP")


def _clash(
    port: dict[str, Any],
    path: Path,
    host_network: bool,
    taken: dict[tuple[str, str, int], Path],
    places: Places,
) -> Iterator[Finding]:
    number = port.get("containerPort") if host_network else port.get("hostPort")
    if not is_port(number):
        return
    key = (str(port.get("protocol") or "TCP"), str(port.get("hostIP") or ""), int(number or 0))
    if key in taken:
        yield places.at("M012", path, f"port {number} of the node is claimed twice in this pod")
    taken[key] = path


def _probe(probe: dict[str, Any], path: Path, kind: str, places: Places) -> Iterator[Finding]:
    handlers = [name for name in _HANDLERS if probe.get(name) is not None]
    if len(handlers) != 1:
        message = "a probe asks in exactly one way"
        yield places.at("M011", path, message, f"one of {', '.join(_HANDLERS)}")
    for key in _NOT_NEGATIVE:
        value = probe.get(key)
        if isinstance(value, int) and value < 0:
            yield places.at("M011", (*path, key), f"{value} is negative")
    threshold = probe.get("successThreshold")
    if kind != "readinessProbe" and isinstance(threshold, int) and threshold not in (0, 1):
        yield places.at("M011", (*path, "successThreshold"), f"must be 1 for a {kind}")
    action = probe.get("exec")
    if isinstance(action, dict) and not action.get("command"):
        yield places.at("M005", (*path, "exec", "command"), "the command is missing")
    grpc = probe.get("grpc")
    if isinstance(grpc, dict) and not is_port(grpc.get("port")):
        yield places.at("M011", (*path, "grpc", "port"), f"{grpc.get('port')} is no port")
    grace = probe.get("terminationGracePeriodSeconds")
    if isinstance(grace, int):
        here = (*path, "terminationGracePeriodSeconds")
        if kind == "readinessProbe":
            yield places.at_key("M011", here, "a readinessProbe ends nothing")
        elif grace <= 0:
            yield places.at("M011", here, f"{grace} s leave no time to end")
    for name in ("httpGet", "tcpSocket"):
        if isinstance(probe.get(name), dict):
            yield from _target(probe[name], (*path, name), name, places)


def _target(target: dict[str, Any], path: Path, kind: str, places: Places) -> Iterator[Finding]:
    port = target.get("port")
    if port is None:
        yield places.at("M005", (*path, "port"), "the probe has no port")
    elif isinstance(port, int) and not is_port(port):
        yield places.at("M011", (*path, "port"), f"{port} is no port")
    elif isinstance(port, str) and not is_port_name(port):
        hint = "remove the quotes" if port.isdigit() else ""
        yield places.at("M011", (*path, "port"), f"{port!r} is no port and no port's name", hint)
    for here, header in dicts(target.get("httpHeaders"), (*path, "httpHeaders")):
        if not re.fullmatch(r"[-A-Za-z0-9]+", str(header.get("name") or ""), re.ASCII):
            yield places.at("M006", (*here, "name"), "this can't be a header's name")
    if kind == "httpGet" and target.get("scheme") not in (None, "", "HTTP", "HTTPS"):
        yield places.at("M011", (*path, "scheme"), "no such scheme", "HTTP or HTTPS")
