"""What makes the pod a scheduler that works: its command line, and probes that match it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from kschedpatch.core.kubeversions import KNOWN_FLAGS, REMOVED_FLAGS
from kschedpatch.core.manifest.document import is_wrapped, scheduler_index
from kschedpatch.core.manifest.flags import effective, flags_of
from kschedpatch.core.manifest.mounts import is_mounted, mount_paths
from kschedpatch.core.manifest.rules.ports import NODE_PORTS, PROBES
from kschedpatch.core.manifest.rules.volumes import MANIFESTS_DIRECTORY, is_below
from kschedpatch.core.schedconfig.election import duration_problems, election
from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.finding import Finding, Path

DEFAULT_PORT = "10259"
EVERYWHERE = {"", "0.0.0.0", "::"}  # noqa: S104  as kubeadm: no host in the probe then
MAX_FLAGS = 200
_FILE_FLAGS = (
    "config", "kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig",
    "tls-cert-file", "tls-private-key-file", "client-ca-file", "policy-config-file",
)  # fmt: skip


def scheduler_findings(pod: dict[str, Any], minor: int | None, places: Places) -> Iterator[Finding]:
    index = scheduler_index(pod)
    if index is None:
        return
    container = pod["spec"]["containers"][index]
    path: Path = ("spec", "containers", index)
    if is_wrapped(container):
        words = container.get("command") or container.get("args")
        message = f"the scheduler is started through {words[0]}"
        yield places.at("M021", (*path, "command"), message, "start kube-scheduler directly")
        return
    yield from _command(container, path, minor, places)
    yield from _serving(pod, container, path, minor, places)
    yield from _files(container, path, places)
    yield from _election(container, path, minor, places)


def _command(
    container: dict[str, Any], path: Path, minor: int | None, places: Places
) -> Iterator[Finding]:
    if not container.get("command") and not container.get("args"):
        message = "the container has no command: its flags are unknown"
        yield places.at("M005", (*path, "command"), message)
    for where in ("command", "args"):
        items = container.get(where)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, str) and item.startswith("-") and " --" in item:
                message = f"several flags in one item: {item!r}"
                yield places.at("M022", (*path, where, index), message, "one item a flag")
    yield from _stray_words(container, path, places)
    flags = flags_of(container)
    if len(flags) > MAX_FLAGS:
        yield places.at("M011", path, f"more than {MAX_FLAGS} flags")
        return
    counts = Counter(flag.name for flag in flags)
    for flag in flags:
        here = (*path, flag.where, flag.at)
        item = container[flag.where][flag.at]
        lost = flag.items == 1 and "=" not in item and flag.value == ""
        if lost or (flag.items == 2 and flag.value.startswith("--")):
            message = f"--{flag.name} has no value of its own"
            yield places.at("M034", here, message, f"--{flag.name}=VALUE")
        gone = REMOVED_FLAGS.get(flag.name)
        if gone is not None and minor is not None and minor >= gone:
            message = f"--{flag.name} is gone from Kubernetes 1.{gone} on, and this is 1.{minor}"
            yield places.at("M019", here, message, _successor(flag.name))
        elif flag.name not in KNOWN_FLAGS and " " not in flag.name:
            near = get_close_matches(flag.name, KNOWN_FLAGS, n=1, cutoff=0.7)
            hint = f"did you mean --{near[0]}?" if near else ""
            message = f"kube-scheduler has no flag --{flag.name} that is known"
            yield places.at("M020", here, message, hint)
        if counts[flag.name] > 1 and flag.name not in {"feature-gates", "tls-sni-cert-key"}:
            counts[flag.name] = 0  # said once
            yield places.at("M023", here, f"--{flag.name} is given more than once")


def _election(
    container: dict[str, Any], path: Path, minor: int | None, places: Places
) -> Iterator[Finding]:
    flags = effective(container)
    if "config" in flags:
        return  # its own durations count where no flag says another: judged with the file
    for code, _, message in duration_problems(election({}, flags), minor):
        yield places.at(code, path, f"by the --leader-elect-… flags, {message}")


def _stray_words(container: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    taken = {
        (flag.where, index)
        for flag in flags_of(container)
        for index in range(flag.at, flag.at + flag.items)
    }
    first = ("command", 0) if container.get("command") else ("args", -1)
    for where in ("command", "args"):
        items = container.get(where)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, str) and (where, index) not in taken and (where, index) != first:
                message = f"{item!r} is no flag, and the scheduler takes no other words"
                hint = "flags start with --, and a switch takes its value with ="
                yield places.at("M034", (*path, where, index), message, hint)


def _successor(name: str) -> str:
    if name.startswith("policy") or name == "use-legacy-policy-config":
        return "say the same with profiles and extenders in a KubeSchedulerConfiguration"
    if name in {"port", "address"}:
        return "remove it: the scheduler serves only on --secure-port"
    if "log" in name or name in {"add-dir-header", "one-output", "skip-headers"}:
        return "remove it: the scheduler logs to stderr, and the kubelet keeps that"
    if name.startswith("lock-object"):
        return "--leader-elect-resource-name and --leader-elect-resource-namespace"
    return "a profile in a KubeSchedulerConfiguration"


def _serving(
    pod: dict[str, Any],
    container: dict[str, Any],
    path: Path,
    minor: int | None,
    places: Places,
) -> Iterator[Finding]:
    flags = effective(container)
    port, address = flags.get("secure-port", DEFAULT_PORT), flags.get("bind-address", "")
    if port == "0":
        if any(isinstance(container.get(probe), dict) for probe in PROBES):
            yield places.at("M029", path, "--secure-port=0, and probes that ask for it")
        return
    if not is_port_text(port) or int(port) > 65535:
        yield places.at("M011", path, f"--secure-port={port[:20]} is no port")
        return
    other = NODE_PORTS.get(int(port))
    if other and pod["spec"].get("hostNetwork"):
        yield places.at("M012", path, f"port {port} of the node belongs to {other}")
    for probe in PROBES:
        target = http_target(container, probe)
        if target is None:
            continue
        here = (*path, probe, "httpGet")
        asked = resolve_port(container, target.get("port"))
        if asked is None:
            message = f"no port of the container is named {target.get('port')!r}"
            yield places.at("M014", (*here, "port"), message)
        elif str(asked) != port:
            message = f"the probe asks port {asked}, the scheduler serves on {port}"
            yield places.at("M014", (*here, "port"), message)
        host = target.get("host")
        if isinstance(host, str) and address not in EVERYWHERE and host != address:
            message = f"the probe asks {host}, the scheduler serves on {address}"
            yield places.at("M014", (*here, "host"), message)
        asked_path = target.get("path")
        if asked_path in ("/livez", "/readyz") and minor is not None and minor < 31:
            message = f"the scheduler serves {asked_path} from 1.31 on, and this is 1.{minor}"
            yield places.at("M014", (*here, "path"), message, "path: /healthz")
        if target.get("scheme") != "HTTPS":
            message = "the scheduler serves HTTPS only"
            yield places.at("M014", (*here, "scheme"), message, "scheme: HTTPS")


def is_port_text(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5


def http_target(container: dict[str, Any], probe: str) -> dict[str, Any] | None:
    value = container.get(probe)
    target = value.get("httpGet") if isinstance(value, dict) else None
    return target if isinstance(target, dict) else None


def resolve_port(container: dict[str, Any], port: Any) -> int | None:
    """A probe's port as a number; named ones are looked up among the container's ports."""
    if isinstance(port, int):
        return port
    ports = container.get("ports")
    for item in ports if isinstance(ports, list) else ():
        if isinstance(item, dict) and item.get("name") == port:
            number = item.get("containerPort")
            return number if isinstance(number, int) else None
    return None


def _files(container: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    """Files that flags name must come into the container by a mount."""
    mounts = mount_paths(container)
    for flag in flags_of(container):
        if flag.name not in _FILE_FLAGS or not flag.value:
            continue
        here = (*path, flag.where, flag.at)
        if is_below(flag.value, MANIFESTS_DIRECTORY):
            message = f"--{flag.name} points into the kubelet's manifests directory"
            hint = "the kubelet tries to run every file there as a pod: keep it elsewhere"
            yield places.at("M018", here, message, hint)
        if not is_mounted(flag.value, mounts):
            message = f"--{flag.name}={flag.value}: no mount brings that file in"
            yield places.at("C013", here, message, "add a mount for it")
