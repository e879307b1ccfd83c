"""A change of the manifest, said in kubeadm's own ways.

kubeadm renders the manifest anew from its ClusterConfiguration and a directory of patches whenever
it upgrades or joins a node. Flags, host paths and, from 1.31 on, environment variables have their
place in the ClusterConfiguration, which the cluster remembers. The rest (image, dnsPolicy, probes,
annotations) is a strategic merge patch, in a directory that has to be named every time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kschedpatch.core.manifest.document import BASE_ANNOTATION
from kschedpatch.core.manifest.flags import effective

Value = dict[str, Any]
_DELETE = {"$patch": "delete"}
_LIST_OF_ARGS = 31


class Persisted(NamedTuple):
    scheduler: Value
    """``scheduler`` of a ClusterConfiguration: extraArgs, extraVolumes, extraEnvs."""
    patch: Value
    """A strategic merge patch of the pod; empty where nothing is left for it."""
    api_version: str

    @property
    def fragment(self) -> Value:
        head = {"apiVersion": self.api_version, "kind": "ClusterConfiguration"}
        return {**head, "scheduler": self.scheduler}


def writes_lists(minor: int) -> bool:
    """Whether this minor's kubeadm writes v1beta4: arguments as a list, and variables."""
    return minor >= _LIST_OF_ARGS


def persisted(before: Value, after: Value, index: int, *, listed: bool) -> Persisted:
    """What leads from the pod as kubeadm renders it to the pod as it was changed. ``index`` is the
    scheduler's container, ``listed`` the newer API."""
    old, new = before["spec"]["containers"][index], after["spec"]["containers"][index]
    scheduler: Value = {}
    flags = _changed(effective(old), effective(new))
    if flags:
        scheduler["extraArgs"] = (
            [{"name": name, "value": value} for name, value in flags.items()] if listed else flags
        )
    mounts = _Mounts(before, after, old, new)
    if mounts.extra:
        scheduler["extraVolumes"] = mounts.extra
    variables = _list_patch(old, new, "env", "name")
    simple = [item for item in variables if listed and set(item) == {"name", "value"}]
    if simple:
        scheduler["extraEnvs"] = simple
        variables = [item for item in variables if item not in simple]
    container = _container_patch(old, new, mounts, variables)
    return Persisted(
        scheduler,
        _pod_patch(before, after, container, mounts),
        "kubeadm.k8s.io/v1beta4" if listed else "kubeadm.k8s.io/v1beta3",
    )


def _changed(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in new.items() if old.get(name) != value}


def _by(owner: Value, key: str, name: str) -> dict[str, Value]:
    """The items of a list by the key that a strategic merge goes by."""
    return {item[name]: item for item in owner.get(key) or ()}


class _Mounts:
    """Host paths: what the ClusterConfiguration can say, and what is left for the patch."""

    def __init__(self, before: Value, after: Value, old: Value, new: Value) -> None:
        were, volumes = (
            _by(before["spec"], "volumes", "name"),
            _by(after["spec"], "volumes", "name"),
        )
        mounted = _by(old, "volumeMounts", "mountPath")
        self.extra: list[Value] = []
        self.mounts: list[Value] = []
        self.volumes: list[Value] = []
        users = [item["name"] for item in _by(new, "volumeMounts", "mountPath").values()]
        said: set[str] = set()
        for path, mount in _by(new, "volumeMounts", "mountPath").items():
            name = mount["name"]
            volume = volumes.get(name, {})
            if mounted.get(path) == mount and were.get(name) == volume:
                continue
            # One entry there is one volume with one mount of its own, under a new name.
            fresh = name not in were and path not in mounted and users.count(name) == 1
            extra = _extra_volume(volume, mount) if fresh else None
            if extra is not None:
                self.extra.append(extra)
                said.add(name)
                continue
            if mounted.get(path) != mount:
                self.mounts.append(mount)
        now = _by(new, "volumeMounts", "mountPath")
        self.mounts += [{"mountPath": path, **_DELETE} for path in mounted if path not in now]
        self.volumes += [
            volume
            for name, volume in volumes.items()
            if name not in said and were.get(name) != volume
        ]
        self.volumes += [{"name": name, **_DELETE} for name in were if name not in volumes]


def _extra_volume(volume: Value, mount: Value) -> Value | None:
    host = volume.get("hostPath")
    plain = set(volume) == {"name", "hostPath"} and set(mount) <= {"name", "mountPath", "readOnly"}
    if not plain or not isinstance(host, dict) or not set(host) <= {"path", "type"}:
        return None
    return {
        "name": mount["name"],
        "hostPath": host["path"],
        "mountPath": mount["mountPath"],
        "readOnly": bool(mount.get("readOnly")),
        **({"pathType": host["type"]} if host.get("type") else {}),
    }


def _list_patch(old: Value, new: Value, key: str, name: str) -> list[Value]:
    """Items that are new or different, and those that go."""
    were, now = _by(old, key, name), _by(new, key, name)
    changed = [item for at, item in now.items() if were.get(at) != item]
    return changed + [{name: at, **_DELETE} for at in were if at not in now]


def _container_patch(old: Value, new: Value, mounts: _Mounts, variables: list[Value]) -> Value:
    special = ("name", "command", "args", "env", "volumeMounts")
    found = _difference(_without(old, special), _without(new, special))
    removed = [name for name in effective(old) if name not in effective(new)]
    if removed:
        # There is no other way to take a flag away: lists without keys are replaced as a whole.
        found |= {key: new[key] for key in ("command", "args") if key in new}
    if mounts.mounts:
        found["volumeMounts"] = mounts.mounts
    if variables:
        found["env"] = variables
    return {"name": new["name"], **found} if found else {}


def _pod_patch(before: Value, after: Value, container: Value, mounts: _Mounts) -> Value:
    patch: Value = {}
    metadata = _difference(before.get("metadata") or {}, after.get("metadata") or {})
    # What kubeadm renders next has another base: the old one would bring its old image back.
    notes = _without(metadata.pop("annotations", None) or {}, (BASE_ANNOTATION,))
    if notes:
        metadata["annotations"] = notes
    spec = _difference(
        _without(before["spec"], ("containers", "volumes")),
        _without(after["spec"], ("containers", "volumes")),
    )
    if container:
        spec["containers"] = [container]
    if mounts.volumes:
        spec["volumes"] = mounts.volumes
    if metadata:
        patch["metadata"] = metadata
    if spec:
        patch["spec"] = spec
    return patch


def _without(value: Value, keys: tuple[str, ...]) -> Value:
    return {key: item for key, item in value.items() if key not in keys}


def _difference(old: Value, new: Value) -> Value:
    """A merge patch: what is different, with null for what goes. Lists are replaced."""
    return dict(_differing(old, new))


def _differing(old: Value, new: Value) -> Iterator[tuple[str, Any]]:
    for key, value in new.items():
        was = old.get(key)
        if isinstance(value, dict) and isinstance(was, dict):
            deeper = _difference(was, value)
            if deeper:
                yield key, deeper
        elif was != value:
            yield key, value
    for key, value in old.items():
        if key not in new and value is not None:
            yield key, None
