"""kubeadm, as far as its rendering of the scheduler's manifest goes: extraArgs over its own flags,
sorted; extraVolumes and extraEnvs behind its own; then strategic merge patches."""

from __future__ import annotations

import copy
from typing import Any

from kschedpatch.core.kubeadm.persisting import Persisted

Value = dict[str, Any]
_KEYS = {"containers": "name", "volumes": "name", "volumeMounts": "mountPath", "env": "name"}


def kubeadm_renders(base: Value, kept: Persisted) -> Value:
    pod = copy.deepcopy(base)
    container = pod["spec"]["containers"][0]
    scheduler = kept.scheduler
    extra = scheduler.get("extraArgs", {})
    if isinstance(extra, list):
        extra = {item["name"]: item["value"] for item in extra}
    program, *words = container["command"]
    flags = dict(word.removeprefix("--").split("=", 1) for word in words) | extra
    container["command"] = [program, *(f"--{name}={flags[name]}" for name in sorted(flags))]
    for volume in scheduler.get("extraVolumes", ()):
        host = {"path": volume["hostPath"], "type": volume.get("pathType", "")}
        pod["spec"]["volumes"].append({"name": volume["name"], "hostPath": host})
        mount = {"name": volume["name"], "mountPath": volume["mountPath"]}
        mount |= {"readOnly": True} if volume["readOnly"] else {}
        container["volumeMounts"].append(mount)
    if scheduler.get("extraEnvs"):
        container.setdefault("env", []).extend(scheduler["extraEnvs"])
    return strategic(pod, kept.patch)


def strategic(value: Value, patch: Value) -> Value:
    result = dict(value)
    for key, item in patch.items():
        if item is None:
            result.pop(key, None)
        elif isinstance(item, dict) and isinstance(result.get(key), dict):
            result[key] = strategic(result[key], item)
        elif isinstance(item, list) and key in _KEYS:
            result[key] = _merged(result.get(key) or [], item, _KEYS[key])
        else:
            result[key] = item
    return result


def _merged(items: list[Value], patches: list[Value], key: str) -> list[Value]:
    by_key = {item[key]: item for item in items}
    for patch in patches:
        if patch.get("$patch") == "delete":
            by_key.pop(patch[key], None)
        else:
            by_key[patch[key]] = strategic(by_key.get(patch[key], {}), patch)
    return list(by_key.values())


def meaning(pod: Value) -> Value:
    """A pod without what has no meaning: the order of flags, volumes, mounts and variables, an
    empty path type, readOnly: false; and without the note of what it was made from."""
    pod = copy.deepcopy(pod)
    pod["metadata"].get("annotations", {}).pop("kschedpatch.io/base", None)
    for container in pod["spec"]["containers"]:
        program, *flags = container["command"]
        container["command"] = [program, *sorted(flags)]
        mounts = container.get("volumeMounts") or []
        mounts = [{k: v for k, v in m.items() if v is not False} for m in mounts]
        container["volumeMounts"] = {mount["mountPath"]: mount for mount in mounts}
        container["env"] = {item["name"]: item for item in container.get("env") or []}
    for volume in pod["spec"].get("volumes") or []:
        host = volume.get("hostPath", {})
        if host.get("type") == "":
            del host["type"]
    pod["spec"]["volumes"] = {item["name"]: item for item in pod["spec"].get("volumes") or []}
    return pod
