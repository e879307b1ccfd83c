"""What users build and hand over: image archives as their tools write them, and programs."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tarfile
from pathlib import Path
from typing import Any

NAME = "registry.internal/own:v1.34.2"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_tar(path: Path, members: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def config(architecture: str = "amd64", system: str = "linux", note: str = "") -> bytes:
    body = {"architecture": architecture, "os": system, "config": {"Labels": {"note": note}}}
    return json.dumps(body).encode()


def docker_members(
    name: str | None = NAME, *, image: bytes | None = None, layer: bytes = b"layer" * 100
) -> dict[str, bytes]:
    """As ``docker save`` writes it; without a name as it does for an ID."""
    image = image if image is not None else config()
    listed = {
        "Config": f"{sha256(image)}.json",
        "RepoTags": [name] if name else None,
        "Layers": ["aaaa/layer.tar"],
    }
    return {
        f"{sha256(image)}.json": image,
        "aaaa/layer.tar": layer,
        "manifest.json": json.dumps([listed]).encode(),
    }


def docker_archive(path: Path, name: str | None = NAME, **parts: Any) -> Path:
    return write_tar(path, docker_members(name, **parts))


def oci_members(name: str = NAME, *, images: tuple[bytes, ...] = ()) -> dict[str, bytes]:
    """A layout with an index of one manifest for each configuration, as buildx writes it."""
    members: dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}

    def blob(data: bytes) -> dict[str, Any]:
        members[f"blobs/sha256/{sha256(data)}"] = data
        return {"digest": f"sha256:{sha256(data)}", "size": len(data)}

    manifests = []
    for image in images or (config(),):
        body = {"schemaVersion": 2, "config": blob(image), "layers": [blob(b"layer of " + image)]}
        manifests.append(blob(json.dumps(body).encode()))
    top = blob(json.dumps({"schemaVersion": 2, "manifests": manifests}).encode())
    top["annotations"] = {"io.containerd.image.name": name}
    members["index.json"] = json.dumps({"manifests": [top]}).encode()
    return members


def program(*, machine: int = 62, loader: str = "", kind: int = 2, abi: int = 0) -> bytes:
    """A 64-bit ELF header with its program headers, and nothing to run."""
    name = loader.encode() + b"\0"
    count = 2 if loader else 1
    head = struct.pack(
        "<4sBBBB8xHHIQQQIHHHHHH",
        *(b"\x7fELF", 2, 1, 1, abi),
        *(kind, machine, 1, 0x400000, 64, 0, 0, 64, 56, count, 0, 0, 0),
    )
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 64, 64, 4096)
    where = 64 + 56 * count
    interp = struct.pack("<IIQQQQQQ", 3, 4, where, where, where, len(name), len(name), 1)
    return head + load + (interp + name if loader else b"")
