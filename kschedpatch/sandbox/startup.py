"""What becomes of a scheduler pod when a node starts it, decided by the manifest and the node.

Pure but for reading the files of the node: the kubelet's life of the pod acts on the value.
Seconds are those of facts §11.2, counted from the moment the kubelet has seen the manifest.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from kschedpatch.core.manifest.document import scheduler_index
from kschedpatch.core.manifest.flags import effective
from kschedpatch.core.schedconfig.election import Election, election
from kschedpatch.model.kubeversion import version_of_image
from kschedpatch.sandbox.configverdict import Verdict, verdict
from kschedpatch.sandbox.imagehabits import Habits, habits, has_plugins_of_its_own

DEFAULT_PORT = 10259


class Surroundings(NamedTuple):
    """What of the node decides a start."""

    path: Callable[[str], Path]
    """A path of the node as a real path."""
    minor: int
    images: frozenset[str]
    pullable: frozenset[str]
    taken_ports: frozenset[int]
    """containerPorts that other pods of the node have declared."""
    used_ports: frozenset[int]
    """Ports on which another process listens."""
    labels: Mapping[str, str]
    """The node's own."""


class Mounted(NamedTuple):
    inside: str
    """The path in the container."""
    real: Path
    read_only: bool


class Exit(NamedTuple):
    after: float
    code: int
    reason: str
    lines: tuple[str, ...]


class Start(NamedTuple):
    obstacle: str = ""
    """admission, mount, image or empty; such a pod has no container."""
    detail: str = ""
    reason: str = ""
    """The predicate that denied admission."""
    volume: str = ""
    exits: Exit | None = None
    """It ends by itself before it is ready."""
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    election: Election | None = None
    habits: Habits = Habits()
    needs_pull: bool = False
    config: Mapping[str, Any] = {}
    user: int = 0


def judge_start(pod: Mapping[str, Any], around: Surroundings) -> Start:
    spec = pod["spec"]
    container = scheduler_container(pod)
    image = str(container.get("image", ""))
    clash = _declared_ports(spec) & around.taken_ports
    if clash:
        text = "node(s) didn't have free ports for the requested pod ports"
        return Start("admission", f"Predicate NodePorts failed: {text}", reason="NodePorts")
    if not (spec.get("nodeSelector") or {}).items() <= around.labels.items():
        text = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
        return Start("admission", text, reason="NodeAffinity")
    for volume in spec.get("volumes") or ():
        problem = _mount_problem(volume, around.path)
        if problem:
            return Start("mount", problem, volume=str(volume.get("name", "")))
    if image not in around.images:
        if container.get("imagePullPolicy") == "Never" or image not in around.pullable:
            return Start("image", image)
        return _process(pod, container, image, around)._replace(needs_pull=True)
    return _process(pod, container, image, around)


def scheduler_container(pod: Mapping[str, Any]) -> dict[str, Any]:
    containers = pod["spec"]["containers"]
    container: dict[str, Any] = containers[scheduler_index(dict(pod)) or 0]
    return container


def _declared_ports(spec: Mapping[str, Any]) -> set[int]:
    return {
        port["containerPort"]
        for container in spec.get("containers") or ()
        for port in container.get("ports") or ()
        if isinstance(port.get("containerPort"), int)
    }


def declared_ports(pod: Mapping[str, Any]) -> frozenset[int]:
    return frozenset(_declared_ports(pod.get("spec") or {}))


def _mount_problem(volume: Mapping[str, Any], path_of: Callable[[str], Path]) -> str:
    host_path = volume.get("hostPath")
    if not isinstance(host_path, dict):
        return ""
    path, kind = str(host_path.get("path", "")), host_path.get("type") or ""
    real = path_of(path)
    if kind == "File" and not real.is_file():
        return f"{path} is not a file"
    if kind == "Directory" and not real.is_dir():
        return f"{path} is not a directory"
    if kind == "Socket" and not real.is_socket():
        return f"{path} is not a socket"
    try:
        if kind == "FileOrCreate" and not real.exists():
            real.touch(0o644)
        elif kind in {"DirectoryOrCreate", ""} and not real.exists():
            real.mkdir(parents=True)  # without a type it is containerd that makes a directory
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


def visible(pod: Mapping[str, Any], path_of: Callable[[str], Path], inside: str) -> Path | None:
    """The node's file that a path inside the scheduler's container leads to."""
    volumes = {
        volume.get("name"): volume["hostPath"].get("path")
        for volume in pod["spec"].get("volumes") or ()
        if isinstance(volume.get("hostPath"), dict)
    }
    best: tuple[int, Path] | None = None
    for mount in scheduler_container(pod).get("volumeMounts") or ():
        at, source = PurePosixPath(mount.get("mountPath", "")), volumes.get(mount.get("name"))
        if source is None or not PurePosixPath(inside).is_relative_to(at):
            continue
        source = str(PurePosixPath(source) / str(mount.get("subPath", "")))
        rest = PurePosixPath(inside).relative_to(at)
        found = len(at.parts), path_of(str(PurePosixPath(source) / rest))
        best = max(best, found) if best else found
    return best[1] if best else None


def host_mounts(pod: Mapping[str, Any], path_of: Callable[[str], Path]) -> tuple[Mounted, ...]:
    """What of the node the scheduler's container sees, and where; the outer ones first."""
    mounts = scheduler_container(pod).get("volumeMounts") or ()
    found = []
    for mount in sorted(mounts, key=lambda item: len(str(item.get("mountPath", "")))):
        inside = str(mount.get("mountPath", ""))
        real = visible(pod, path_of, inside)
        if real is not None:
            found.append(Mounted(inside, real, mount.get("readOnly") is True))
    return tuple(found)


def read_file(path: Path | None) -> bytes | None:
    try:
        return path.read_bytes() if path is not None else None
    except OSError:
        return None


def _process(
    pod: Mapping[str, Any], container: dict[str, Any], image: str, around: Surroundings
) -> Start:
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    program = str(words[0]) if words else "kube-scheduler"
    own_binary = "/" in program and visible(pod, around.path, program)
    if own_binary and not own_binary.is_file():
        return Start(exits=Exit(0.9, 128, "StartError", ()))
    if "no-log-exit" in image:
        return Start(exits=Exit(0.9, 137, "OOMKilled", ()))
    found = judge_flags(
        effective(container),
        image,
        around.minor,
        lambda path: read_file(visible(pod, around.path, path)),
        own_binary=bool(own_binary),
    )
    flags = effective(container)
    host, port = flags.get("bind-address", "0.0.0.0"), _port(flags)  # noqa: S104 (simulated)
    if found.problem:
        after = 0.55 if found.is_flag_problem else 1.0
        after = 1.8 if found.is_extender_problem else after
        return Start(exits=Exit(after, 1, "Error", found.lines))
    if not _is_address(host):
        problem = (
            f'invalid argument "{host}" for "--bind-address" flag: failed to parse IP: "{host}"'
        )
        return Start(exits=Exit(0.55, 1, "Error", (f"Error: {problem}",)))
    if port in around.used_ports:
        problem = (
            f"failed to create listener: failed to listen on {host}:{port}: "
            f"listen tcp {host}:{port}: bind: address already in use"
        )
        return Start(exits=Exit(0.55, 1, "Error", Verdict(problem).lines))
    return Start(
        host=host,
        port=port,
        election=election(dict(found.config), flags),
        config=found.config,
        user=_user(pod, container),
        habits=habits(image, str(pod["metadata"].get("name", ""))),
    )


def judge_flags(
    flags: Mapping[str, str],
    image: str,
    minor: int,
    read: Callable[[str], bytes | None],
    *,
    own_binary: bool = False,
) -> Verdict:
    version = version_of_image(image)
    stock = not has_plugins_of_its_own(image) and not own_binary
    return verdict(flags, version.minor if version else minor, stock=stock, read=read)


def _user(pod: Mapping[str, Any], container: Mapping[str, Any]) -> int:
    chosen = {**(pod["spec"].get("securityContext") or {})}
    chosen |= container.get("securityContext") or {}
    user = chosen.get("runAsUser", 0)
    return user if isinstance(user, int) else 0


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _port(flags: Mapping[str, str]) -> int:
    text = flags.get("secure-port", str(DEFAULT_PORT))
    return int(text) if text.isdigit() else DEFAULT_PORT
