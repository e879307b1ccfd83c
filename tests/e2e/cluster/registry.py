"""Two image registries on the gate: one for everybody, one that wants credentials.

containerd reaches them through its mirror settings under the names below,
which exist nowhere else, so a pull is a real one and never leaves the rig.
"""

from __future__ import annotations

import base64
import http.client
import json
from urllib.parse import urlsplit

from .console import RigError
from .images import Image, digest
from .settings import GATE_ADDRESS

PUBLIC = "registry.example.com"
PRIVATE = "private.example.com"
USER = "puller"
PASSWORD = "pull-me-7"  # noqa: S105  (a test registry's)
# The only hash that the registry's htpasswd file may hold is bcrypt, for which
# the standard library has nothing.
_HTPASSWD = f"{USER}:$2b$05$abcdefghijklmnopqrstuuw3BGsQXCqvmZSzXan5GBagA2LIguoSm\n"
_PORTS = {PUBLIC: 5000, PRIVATE: 5001}
_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def gate_files() -> dict[str, str]:
    files = {"etc/registry/htpasswd": _HTPASSWD}
    for name, port in _PORTS.items():
        settings: dict[str, object] = {
            "version": 0.1,
            "log": {"level": "warn"},
            "storage": {"filesystem": {"rootdirectory": f"/var/lib/registry/{name}"}},
            "http": {"addr": f"{GATE_ADDRESS}:{port}"},
        }
        if name == PRIVATE:
            settings["auth"] = {"htpasswd": {"realm": "rig", "path": "/etc/registry/htpasswd"}}
        files[f"etc/registry/{name}.yml"] = json.dumps(settings)
    return files


def gate_units() -> list[str]:
    return [f"registry@{name}.service" for name in _PORTS]


def node_files() -> dict[str, str]:
    """containerd's mirror settings."""
    return {
        f"etc/containerd/certs.d/{name}/hosts.toml": (
            f'server = "http://{GATE_ADDRESS}:{port}"\n'
            f'[host."http://{GATE_ADDRESS}:{port}"]\n'
            '  capabilities = ["pull", "resolve"]\n'
        )
        for name, port in _PORTS.items()
    }


def pull_secret(name: str, namespace: str = "default") -> dict[str, object]:
    """A Secret that lets a pod pull from the private registry."""
    auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    config = {"auths": {PRIVATE: {"username": USER, "password": PASSWORD, "auth": auth}}}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode(json.dumps(config).encode()).decode()},
    }


def push(reference: str, image: Image) -> str:
    """Push an image under `host/repository:tag`; returns the reference."""
    host, _, rest = reference.partition("/")
    repository, _, tag = rest.rpartition(":")
    if host not in _PORTS or not repository:
        raise RigError(f"not a reference of the rig's registries: {reference}")
    layer = image.layer()
    config = image.config(layer)
    connection = http.client.HTTPConnection(GATE_ADDRESS, _PORTS[host], timeout=60)
    try:
        for blob in (layer, config):
            _push_blob(connection, repository, blob)
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _descriptor("application/vnd.docker.container.image.v1+json", config),
            "layers": [_descriptor("application/vnd.docker.image.rootfs.diff.tar", layer)],
        }
        path = f"/v2/{repository}/manifests/{tag}"
        _request(connection, "PUT", path, json.dumps(manifest).encode(), _MANIFEST, 201)
    finally:
        connection.close()
    return reference


def answers(name: str) -> bool:
    connection = http.client.HTTPConnection(GATE_ADDRESS, _PORTS[name], timeout=5)
    try:
        connection.request("GET", "/v2/")
        return connection.getresponse().status in (200, 401)
    finally:
        connection.close()


def _push_blob(connection: http.client.HTTPConnection, repository: str, blob: bytes) -> None:
    location = urlsplit(
        _request(connection, "POST", f"/v2/{repository}/blobs/uploads/", b"", None, 202)
    )
    query = f"{location.query}&digest={digest(blob)}"
    _request(connection, "PUT", f"{location.path}?{query}", blob, "application/octet-stream", 201)


def _request(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes,
    kind: str | None,
    expected: int,
) -> str:
    headers = {"Authorization": "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}
    if kind:
        headers["Content-Type"] = kind
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    said = response.read()
    if response.status != expected:
        raise RigError(
            f"registry: {method} {path}: {response.status} {said.decode(errors='replace')[:500]}"
        )
    return response.headers.get("Location", "")


def _descriptor(kind: str, blob: bytes) -> dict[str, object]:
    return {"mediaType": kind, "size": len(blob), "digest": digest(blob)}
