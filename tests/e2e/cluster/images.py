"""Container images of one static binary each, as archives that `ctr images import` reads."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .build import Binaries, lock
from .console import run, say
from .settings import cache_directory
from .versions import KubernetesVersion

PAUSE_IMAGE = "registry.k8s.io/pause:rig"
"""The sandboxes' image; containerd's configuration names it."""
BUSYBOX_IMAGE = "registry.k8s.io/busybox:rig"
"""A shell and network tools, for the pods of tests."""
_APPLETS = ("sh", "cat", "echo", "httpd", "ls", "nslookup", "sleep", "wget")


@dataclass(frozen=True)
class Image:
    """Files and a command line; everything else is empty."""

    files: dict[str, Path]
    """Executables by their path in the image."""
    entrypoint: tuple[str, ...] = ()
    links: dict[str, str] = field(default_factory=dict)

    def layer(self) -> bytes:
        """An uncompressed tar, the same bytes for the same content."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for directory in sorted(
                {parent for path in (*self.files, *self.links) for parent in _parents(path)}
            ):
                entry = tarfile.TarInfo(directory)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
            for path, source in sorted(self.files.items()):
                entry = tarfile.TarInfo(path)
                entry.size, entry.mode = source.stat().st_size, 0o755
                with source.open("rb") as content:
                    tar.addfile(entry, content)
            for path, target in sorted(self.links.items()):
                entry = tarfile.TarInfo(path)
                entry.type, entry.linkname = tarfile.SYMTYPE, target
                tar.addfile(entry)
        return buffer.getvalue()

    def config(self, layer: bytes) -> bytes:
        return json.dumps(
            {
                "architecture": _architecture(),
                "os": "linux",
                "config": {
                    "Entrypoint": list(self.entrypoint),
                    "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"],
                },
                "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
            }
        ).encode()


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def command_image(binary: Path, name: str | None = None) -> Image:
    """As the released images are: the binary in /usr/local/bin, no shell, no entry point."""
    return Image({f"usr/local/bin/{name or binary.name}": binary})


def busybox_image(base_tree: Path) -> Image:
    links = {f"bin/{applet}": "busybox" for applet in _APPLETS}
    return Image({"bin/busybox": base_tree / "bin/busybox"}, links=links)


def write_archive(path: Path, images: Sequence[tuple[str, Image]]) -> None:
    """A docker-archive: one layer and one configuration an image."""
    manifest = []
    with tarfile.open(path, "w") as tar:
        for name, image in images:
            layer = image.layer()
            config = image.config(layer)
            layer_name = f"{digest(layer).removeprefix('sha256:')}.tar"
            config_name = f"{digest(config).removeprefix('sha256:')}.json"
            _add(tar, layer_name, layer)
            _add(tar, config_name, config)
            manifest.append({"Config": config_name, "RepoTags": [name], "Layers": [layer_name]})
        _add(tar, "manifest.json", json.dumps(manifest).encode())


def cluster_archive(version: KubernetesVersion, binaries: Binaries, base_tree: Path) -> Path:
    """All images that kubeadm asks for, the sandboxes' and the tests' own, in one archive."""
    store = cache_directory() / "images"
    store.mkdir(parents=True, exist_ok=True)
    recipe = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
    target = store / f"{version.release}-{binaries.key}-{base_tree.name}-{recipe}.tar"
    with lock(store / ".lock", "another run that makes images"):
        if not target.exists():
            say(f"making the images of {version.release}")
            wanted = run(
                [
                    str(binaries["kubeadm"]),
                    "config",
                    "images",
                    "list",
                    f"--kubernetes-version={version.release}",
                ]
            )
            images = [(PAUSE_IMAGE, Image({"pause": binaries["pause"]}, ("/pause",)))]
            images.append((BUSYBOX_IMAGE, busybox_image(base_tree)))
            for name in wanted.stdout.decode().split():
                component = name.rpartition("/")[2].partition(":")[0]
                if component == "coredns":
                    images.append((name, Image({"coredns": binaries["coredns"]}, ("/coredns",))))
                elif component not in (
                    "pause",
                    "kube-proxy",
                ):  # a unit on the node; a tag of the rig's own
                    images.append((name, command_image(binaries[component])))
            with tempfile.NamedTemporaryFile(dir=store, prefix=".new-", delete=False) as scratch:
                write_archive(Path(scratch.name), images)
            Path(scratch.name).rename(target)
            # Some hundred megabytes each; a cluster that runs keeps its own open.
            for old in store.glob(f"{version.release}-*.tar"):
                if old != target:
                    old.unlink()
    return target


def _parents(path: str) -> list[str]:
    return [str(parent) for parent in Path(path).parents if str(parent) != "."]


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def _architecture() -> str:
    machine = run(["uname", "-m"]).stdout.decode().strip()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
