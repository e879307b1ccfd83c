"""The demo schedulers of `fixtures/schedulers`, in the forms that tests bring to a cluster."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from . import registry
from .api import Object
from .build import SCHEDULER, SCHEDULERS, build_companion, build_scheduler, build_stock_scheduler
from .console import RigError, say, wait_until
from .images import Image, command_image, write_archive
from .node import Node
from .versions import KubernetesVersion, release_of

DEMO = "demo"
BREAKS_ON_FIRST_POD = "breaks-on-first-pod"
EXTENDER = "extender"
EXTENDER_PORT = 3456
EXTENDER_NAME = "gpu-admission"
"""Of its Deployment and Service in kube-system: the recipe's configuration asks for it there."""
DEVICE_PLUGIN = "deviceplugin"
STATUS_SOCKET = "/var/lib/kubelet/device-plugins/nvidia-gpu.sock.status"
_ON_NODE = "/run/rig-deviceplugin"
_UNIT = "rig-deviceplugin"


def demo_release() -> str:
    """The Kubernetes release that the demo scheduler is built from."""
    return release_of(SCHEDULERS / DEMO)


def demo_binary(version: KubernetesVersion) -> Path:
    if version.release != demo_release():
        # It would be stamped with a version that it is not.
        raise RigError(f"the demo scheduler is a {demo_release()}, the cluster a {version.release}")
    return build_scheduler(DEMO, version)


def demo_image(version: KubernetesVersion) -> Image:
    """As the stock image, with the demo in the place of its binary."""
    return command_image(demo_binary(version), SCHEDULER)


def push_demo(version: KubernetesVersion, reference: str) -> str:
    return _push(reference, demo_image(version))


def push_without_plugin(version: KubernetesVersion, reference: str) -> str:
    """What people get who name the wrong tag: the stock scheduler."""
    return _push(reference, command_image(build_stock_scheduler(version), SCHEDULER))


def push_breaking(version: KubernetesVersion, reference: str) -> str:
    """Starts, becomes ready, and panics on the first pod that it schedules."""
    return _push(reference, command_image(build_scheduler(BREAKS_ON_FIRST_POD, version), SCHEDULER))


def demo_archive(version: KubernetesVersion, path: Path, reference: str) -> Path:
    """A docker-archive with one image in it, which is called `reference`."""
    write_archive(path, [(reference, demo_image(version))])
    return path


def extender_image() -> Image:
    return Image({EXTENDER: build_companion(EXTENDER)}, (f"/{EXTENDER}",))


def push_extender(reference: str) -> str:
    return _push(reference, extender_image())


def _push(reference: str, image: Image) -> str:
    say(f"pushing {reference}")
    return registry.push(reference, image)


def import_image(node: Node, reference: str, image: Image) -> None:
    """To a node without a registry, as `ctr images import` does it."""
    with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
        write_archive(Path(archive.name), [(reference, image)])
        content = Path(archive.name).read_bytes()
    node.run("ctr -n k8s.io images import -", stdin=content, timeout=180)


def extender_objects(image: str, *, permit: str = "", prefer: str = "") -> list[Object]:
    """The extender as a Deployment behind its Service, with the right to bind pods."""
    labels = {"app": EXTENDER_NAME}
    metadata = {"name": EXTENDER_NAME, "namespace": "kube-system", "labels": labels}
    container = {
        "name": EXTENDER_NAME,
        "image": image,
        "env": [{"name": "PERMIT", "value": permit}, {"name": "PREFER", "value": prefer}],
        "ports": [{"containerPort": EXTENDER_PORT}],
        "readinessProbe": {
            "httpGet": {"path": "/healthz", "port": EXTENDER_PORT},
            "periodSeconds": 1,
        },
    }
    pod = {
        "serviceAccountName": EXTENDER_NAME,
        "terminationGracePeriodSeconds": 0,
        "tolerations": [
            {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
        ],
        "containers": [container],
    }
    group = "rbac.authorization.k8s.io"
    rule = {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]}
    role = {"apiGroup": group, "kind": "ClusterRole", "name": EXTENDER_NAME}
    subject = {"kind": "ServiceAccount", "name": EXTENDER_NAME, "namespace": "kube-system"}
    everywhere = {"name": EXTENDER_NAME, "labels": labels}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": everywhere,
            "rules": [rule],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": everywhere,
            "roleRef": role,
            "subjects": [subject],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"selector": labels, "ports": [{"port": EXTENDER_PORT}]},
        },
    ]


def manifest(objects: list[Object]) -> str:
    """Documents of one file; JSON is YAML."""
    return "---\n".join(json.dumps(one, indent=2) + "\n" for one in objects)


def status_table(nodes: Mapping[str, tuple[int, int]]) -> str:
    """What the stand-in answers: capacity and use of each node, in MPS clients."""
    entries = {name: {"capacity": has, "used": used} for name, (has, used) in nodes.items()}
    return json.dumps({"nodes": entries})


class DevicePlugin:
    """The stand-in on one node, as a unit of its own."""

    def __init__(self, node: Node, socket: str) -> None:
        self.node = node
        self.socket = socket

    def start(self, nodes: Mapping[str, tuple[int, int]], *, mode: str = "0660") -> None:
        binary = build_companion(DEVICE_PLUGIN).read_bytes()
        place = f"{_ON_NODE}/{DEVICE_PLUGIN}"
        self.node.run(f"mkdir -p {_ON_NODE} && cat > {place} && chmod 755 {place}", stdin=binary)
        self.say(nodes)
        command = [place, "--socket", self.socket, "--mode", mode, "--table", f"@{_ON_NODE}/table"]
        unit = f"systemd-run --quiet --collect --unit={_UNIT} {shlex.join(command)}"
        self.node.run(unit)
        wait_until(f"{self.socket} on {self.node.name}", self.answers, 15, 0.2)

    def say(self, nodes: Mapping[str, tuple[int, int]]) -> None:
        """Another table, from the next question on: it is read for each."""
        write = f"cat > {_ON_NODE}/.table && mv {_ON_NODE}/.table {_ON_NODE}/table"
        self.node.run(write, stdin=status_table(nodes).encode())

    def answers(self) -> bool:
        ask = f"curl -sf --max-time 2 --unix-socket {shlex.quote(self.socket)} localhost/status"
        return self.node.run(ask, check=False).returncode == 0

    def log(self) -> list[str]:
        return self.node.journal(_UNIT)

    def stop(self) -> None:
        self.node.run(
            f"systemctl stop {_UNIT}; rm -rf {_ON_NODE} {shlex.quote(self.socket)}", check=False
        )


@contextmanager
def device_plugin(
    node: Node,
    nodes: Mapping[str, tuple[int, int]],
    *,
    socket: str = STATUS_SOCKET,
    mode: str = "0660",
) -> Iterator[DevicePlugin]:
    """Answers `/status` on the node while the block runs."""
    stand_in = DevicePlugin(node, socket)
    try:
        stand_in.start(nodes, mode=mode)
        yield stand_in
    finally:
        stand_in.stop()


@contextmanager
def device_plugins(nodes: Sequence[Node], table: Mapping[str, tuple[int, int]]) -> Iterator[None]:
    """Whoever leads: each scheduler asks the socket of its own host."""
    with ExitStack() as stack:
        for node in nodes:
            stack.enter_context(device_plugin(node, table))
        yield
