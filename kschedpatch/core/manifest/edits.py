"""Changes a pod (a plain value) as a patch asks. Text comes later, by ``yamltext.splice``."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from kschedpatch.core.manifest.flags import effective, remove_flag, set_flag
from kschedpatch.core.manifest.rules.ports import PROBES
from kschedpatch.core.manifest.rules.scheduler import (
    DEFAULT_PORT,
    EVERYWHERE,
    http_target,
    is_port_text,
    resolve_port,
)

if TYPE_CHECKING:
    from kschedpatch.model.patch import Scheduler


class HostMount(NamedTuple):
    """A hostPath volume and the one place where the scheduler sees it."""

    name: str
    host_path: str
    mount_path: str
    type: str
    read_only: bool = True


class VolumeInUse(Exception):
    """A volume of this name is already mounted elsewhere, for something else."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def put(owner: dict[str, Any], key: str, value: Any) -> None:
    """Sets a key; a new one goes where it sorts, if the keys are sorted as kubeadm's are."""
    if key in owner:
        owner[key] = value
        return
    keys = list(owner)
    if keys != sorted(keys):
        owner[key] = value
        return
    later = {name: owner.pop(name) for name in keys if name > key}
    owner[key] = value
    owner.update(later)


def set_env(container: dict[str, Any], name: str, value: str) -> None:
    """Sets a variable. Of several of one name the last counts: it is set, the others go."""
    variables = [item for item in container.get("env") or [] if isinstance(item, dict)]
    wanted = {"name": name, "value": value}
    same_name = [item for item in variables if item.get("name") == name]
    if not same_name:
        put(container, "env", [*variables, wanted])
        return
    last = same_name[-1]
    kept = [item for item in variables if item.get("name") != name or item is last]
    put(container, "env", [wanted if item is last else item for item in kept])


def put_mount(pod: dict[str, Any], index: int, mount: HostMount) -> None:
    """Adds or replaces a volume (by name) and its mount (by mountPath)."""
    source = {"hostPath": {"path": mount.host_path, "type": mount.type}}
    wanted: dict[str, Any] = {"mountPath": mount.mount_path}
    if mount.read_only:
        wanted["readOnly"] = True
    put_volume(pod, index, mount.name, source, wanted)


def put_volume(
    pod: dict[str, Any],
    index: int,
    name: str,
    source: dict[str, Any],
    mount: dict[str, Any],
) -> None:
    """The same for any source of a volume; ``mount`` without the volume's name."""
    spec = pod["spec"]
    container = spec["containers"][index]
    volumes = list(spec.get("volumes") or [])
    mounts = list(container.get("volumeMounts") or [])
    place = mount["mountPath"]
    for existing_mount in mounts:
        # «/a/» and «/a» are one place, though not to the kubelet.
        if _place(existing_mount.get("mountPath")) == _place(place):
            existing_mount["mountPath"] = place
    replaced = [m["name"] for m in mounts if m.get("mountPath") == place]
    others = _users(pod, name, except_path=(index, place))
    existing = next((v for v in volumes if v.get("name") == name), None)
    if existing is not None and others and not _same_source(existing, source):
        raise VolumeInUse(name)
    _replace_or_append(mounts, "mountPath", dict(sorted({**mount, "name": name}.items())))
    put(container, "volumeMounts", mounts)
    _replace_or_append(volumes, "name", dict(sorted({**source, "name": name}.items())))
    put(spec, "volumes", volumes)
    for other in replaced:
        if other != name:
            _drop_unused(pod, other)


def _same_source(volume: dict[str, Any], source: dict[str, Any]) -> bool:
    """A hostPath is known by its path alone."""
    path = (source.get("hostPath") or {}).get("path")
    if path is not None:
        return bool((volume.get("hostPath") or {}).get("path") == path)
    return {key: value for key, value in volume.items() if key != "name"} == source


def change_container(pod: dict[str, Any], index: int, scheduler: Scheduler) -> None:
    """Image, flags, variables and dnsPolicy, as the patch asks for them."""
    container = pod["spec"]["containers"][index]
    if scheduler.image:
        put(container, "image", scheduler.image)
    for name, value in scheduler.args.items():
        if value is None:
            remove_flag(container, name)
        else:
            set_flag(container, name, value)
    for variable in scheduler.env:
        set_env(container, variable.name, variable.value)
    if scheduler.dns_policy:
        put(pod["spec"], "dnsPolicy", scheduler.dns_policy)


def remove_mount(pod: dict[str, Any], index: int, mount_path: str) -> None:
    """Takes one mount away, and its volume if nothing else uses it."""
    container = pod["spec"]["containers"][index]
    mounts = container.get("volumeMounts") or []
    gone = [m["name"] for m in mounts if _place(m.get("mountPath")) == _place(mount_path)]
    if gone:
        kept = [m for m in mounts if _place(m.get("mountPath")) != _place(mount_path)]
        put(container, "volumeMounts", kept)
    for name in gone:
        _drop_unused(pod, name)


def read_only_parent(container: dict[str, Any], path: str) -> str | None:
    """A read-only mount that the path lies in: no mount point can be made there."""
    for mount in container.get("volumeMounts") or ():
        outer = str(mount.get("mountPath"))
        inside = PurePosixPath(path).is_relative_to(outer) and _place(outer) != _place(path)
        if inside and mount.get("readOnly") is True:
            return outer
    return None


def _place(path: Any) -> str:
    return str(path).rstrip("/")


def _drop_unused(pod: dict[str, Any], name: str) -> None:
    """A volume that nobody mounts any more would still be checked when the pod starts."""
    if not _users(pod, name, except_path=None):
        volumes = [v for v in pod["spec"].get("volumes") or () if v.get("name") != name]
        put(pod["spec"], "volumes", volumes)


def _replace_or_append(items: list[dict[str, Any]], key: str, wanted: dict[str, Any]) -> None:
    for at, item in enumerate(items):
        if item.get(key) == wanted[key]:
            items[at] = wanted
            return
    items.append(wanted)


def _users(pod: dict[str, Any], volume: str, except_path: tuple[int, str] | None) -> bool:
    """Whether anything mounts the volume, apart from one container's one mount."""
    spec = pod["spec"]
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or []):
            for mount in container.get("volumeMounts") or []:
                here = (index, mount.get("mountPath")) if kind == "containers" else None
                if mount.get("name") == volume and (here is None or here != except_path):
                    return True
    return False


def follow_serving_flags(container: dict[str, Any], before: dict[str, str]) -> None:
    """Makes port and host of the probes follow --secure-port and --bind-address, as kubeadm does.

    ``before`` are the flags as they were: a probe that asked somewhere else keeps doing so.
    """
    after = effective(container)
    old_port, new_port = (f.get("secure-port", DEFAULT_PORT) for f in (before, after))
    old_host, new_host = (f.get("bind-address", "") for f in (before, after))
    if new_port == "0" or (old_port == new_port and old_host == new_host):
        return  # a port that is switched off is refused by the validation
    for probe in PROBES:
        target = http_target(container, probe)
        if target is None or str(resolve_port(container, target.get("port"))) != old_port:
            continue
        if old_port != new_port and is_port_text(new_port) and isinstance(target.get("port"), int):
            target["port"] = int(new_port)
        if old_host != new_host:
            _set_host(target, new_host)
    for port in container.get("ports") or []:
        if (
            old_port != new_port
            and is_port_text(new_port)
            and str(port.get("containerPort")) == old_port
        ):
            port["containerPort"] = int(new_port)
            if str(port.get("hostPort")) == old_port:
                port["hostPort"] = int(new_port)


def _set_host(target: dict[str, Any], host: str) -> None:
    if host in EVERYWHERE:
        target.pop("host", None)
    else:
        put(target, "host", host)
