"""What a manifest says about its scheduler: where it serves, which image, how to try it once."""

from __future__ import annotations

from typing import Any

from kschedpatch.core.manifest.document import Manifest
from kschedpatch.core.manifest.flags import effective, flags_of, remove_flag
from kschedpatch.core.manifest.rules.scheduler import DEFAULT_PORT, EVERYWHERE, is_port_text
from kschedpatch.model.fleetplan import Health, Preflight
from kschedpatch.model.kubeversion import KubeVersion

#: From this minor on the scheduler has /readyz and /livez.
READYZ = 31
# What the one run sets itself: it must neither elect, serve, nor write elsewhere.
_OWN_FLAGS = frozenset({"secure-port", "write-config-to"})
_ELECTION = "leader-elect"


def scheduler_container(manifest: Manifest) -> dict[str, Any]:
    container: dict[str, Any] = manifest.pod["spec"]["containers"][manifest.container_index]
    return container


def image_of(manifest: Manifest) -> str:
    return str(scheduler_container(manifest).get("image") or "")


def always_pulls(manifest: Manifest) -> bool:
    return scheduler_container(manifest).get("imagePullPolicy") == "Always"


def health_of(
    manifest: Manifest, kubelet: KubeVersion | None, *, cache_waits: bool = False
) -> Health:
    """``cache_waits``: with delayCacheUntilActive a standby never becomes ready, so that only
    being alive can be asked."""
    flags = effective(scheduler_container(manifest))
    address = flags.get("bind-address", "")
    host = "127.0.0.1" if address in EVERYWHERE else address
    port = flags.get("secure-port", DEFAULT_PORT)
    # An image of another minor than the kubelet's serves what its own minor has.
    version = manifest.version if manifest.version and manifest.version.is_known else kubelet
    ready = version is not None and version.minor >= READYZ
    path = ("/livez" if cache_waits else "/readyz") if ready else "/healthz"
    return Health(
        host=host,
        port=int(port) if is_port_text(port) else 0,
        path=path,
        proves_readiness=path == "/readyz",
    )


def preflight_of(manifest: Manifest) -> Preflight:
    trial = preflight_of_container(scheduler_container(manifest))
    return trial._replace(mounts=host_mounts(manifest))


def preflight_of_container(container: dict[str, Any]) -> Preflight:
    """Without mounts; the container is the caller's copy, and changed."""
    for name in {flag.name for flag in flags_of(container)}:
        if name in _OWN_FLAGS or name == _ELECTION or name.startswith(f"{_ELECTION}-"):
            remove_flag(container, name)
    words = [str(word) for key in ("command", "args") for word in container.get(key) or ()]
    if not words or words[0].startswith("-"):
        words.insert(0, "kube-scheduler")
    env = tuple(
        (str(item["name"]), str(item["value"]))
        for item in container.get("env") or ()
        if isinstance(item, dict) and "value" in item
    )
    return Preflight(str(container.get("image") or ""), tuple(words), (), env)


def host_mounts(manifest: Manifest) -> tuple[tuple[str, str], ...]:
    """Host path and container path of what the scheduler's container sees of the host."""
    paths = {name: path for name, path, _ in host_paths(manifest)}
    mounts = []
    for mount in scheduler_container(manifest).get("volumeMounts") or ():
        source = paths.get(mount.get("name"))
        if source is not None:
            below = mount.get("subPath")
            mounts.append((f"{source}/{below}" if below else source, str(mount["mountPath"])))
    return tuple(mounts)


def host_paths(manifest: Manifest) -> tuple[tuple[str, str, str], ...]:
    """Name, path and type of every hostPath volume; the kubelet checks them all."""
    return tuple(
        (str(volume.get("name")), source["path"], str(source.get("type") or ""))
        for volume in manifest.pod["spec"].get("volumes") or ()
        if isinstance(source := volume.get("hostPath"), dict)
        and isinstance(source.get("path"), str)
    )
