"""A control-plane node, with the faults that tests can put on it."""

from __future__ import annotations

import ipaddress
import json
import shlex
from pathlib import Path
from typing import Any

from . import kubeadm, registry
from .build import Binaries
from .console import RigError, wait_until
from .machine import Machine
from .settings import addresses
from .versions import KubernetesVersion

MANIFESTS = "/etc/kubernetes/manifests"
SCHEDULER_MANIFEST = f"{MANIFESTS}/kube-scheduler.yaml"
SCHEDULER_PORT = 10259
_ON_NODE = ("kubeadm", "kubectl", "kubelet", "kube-proxy", "crictl")
_ARCHIVE = "/opt/rig/images.tar"


class Node(Machine):
    def __init__(
        self,
        name: str,
        version: KubernetesVersion,
        binaries: Binaries | None = None,
        archive: Path | None = None,
    ) -> None:
        place = addresses(name)
        binds = {f"/usr/bin/{binary}": binaries[binary] for binary in _ON_NODE} if binaries else {}
        if archive:
            binds[_ARCHIVE] = archive
        super().__init__(name, place.address, place.inner, ("common", "node"), binds)
        self.version = version
        self.pods = place.pods

    def create(self, base: Path) -> None:
        super().create(base)
        for path, text in registry.node_files().items():
            self.put(path, text)
        self.put("etc/default/kubelet", kubeadm.kubelet_flags(self, self.version))
        self.put("etc/cni/net.d/10-rig.conflist", self._pod_network())
        # Kubernetes looks for the plugins where their own releases put them.
        (self.tree / "opt/cni").mkdir(parents=True)
        (self.tree / "opt/cni/bin").symlink_to("/usr/lib/cni")
        self.enable("containerd", "kubelet", "kube-proxy")

    def _pod_network(self) -> str:
        gateway = str(next(ipaddress.ip_network(self.pods).hosts()))
        bridge = {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            # A pod that asks a Service which is served by itself.
            "hairpinMode": True,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": self.pods, "gateway": gateway}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }
        plugins = [bridge, {"type": "portmap", "capabilities": {"portMappings": True}}]
        return json.dumps({"cniVersion": "0.4.0", "name": "rig", "plugins": plugins}, indent=2)

    def import_images(self) -> None:
        wait_until(
            f"containerd of {self.name}",
            lambda: self.run("ctr version", check=False).returncode == 0,
            30,
        )
        self.run(f"ctr -n k8s.io images import {_ARCHIVE}", timeout=180)

    # --- services

    def stop(self, service: str) -> None:
        """An orderly stop; systemd does not bring it back."""
        self.run(f"systemctl stop {shlex.quote(service)}", timeout=120)

    def start(self, service: str) -> None:
        self.run(f"systemctl start {shlex.quote(service)}", timeout=120)

    def restart(self, service: str) -> None:
        self.run(f"systemctl restart {shlex.quote(service)}", timeout=120)

    def kill(self, service: str) -> None:
        """SIGKILL to its main process; systemd brings it back by the unit's own rule."""
        self.run(f"systemctl kill --kill-whom=main --signal=KILL {shlex.quote(service)}")

    # --- manifests

    def read(self, path: str) -> bytes:
        return self.run(f"cat {shlex.quote(path)}").stdout

    def put_manifest(self, content: bytes, path: str = SCHEDULER_MANIFEST) -> None:
        """Replace a manifest in one step: the kubelet sees it whole or not at all."""
        directory, _, name = path.rpartition("/")
        scratch = shlex.quote(f"{directory}/.rig-{name}")
        # Mode as kubeadm's; a dot file is no manifest to the kubelet.
        self.run(f"umask 077 && cat > {scratch} && mv {scratch} {shlex.quote(path)}", stdin=content)

    # --- what runs

    def scheduler_ready(self, port: int = SCHEDULER_PORT) -> bool:
        url = f"https://127.0.0.1:{port}{self.version.ready_path}"
        return self.run(f"curl -sfk --max-time 3 -o /dev/null {url}", check=False).returncode == 0

    def containers(self, name: str, *, ended: bool = False) -> list[dict[str, Any]]:
        """The runtime's records of the containers with this exact name."""
        flags = "-a" if ended else ""
        listed = json.loads(self.output(f"crictl ps {flags} --name '^{name}$' -o json"))
        found: list[dict[str, Any]] = listed["containers"]
        return found

    def journal(self, unit: str, since: str | None = None, *, grep: str | None = None) -> list[str]:
        """Messages of a unit; `since` is a cursor from `journal_cursor`."""
        command = f"journalctl --quiet --no-pager --output=cat --unit={shlex.quote(unit)}"
        if since:
            command += f" --after-cursor={shlex.quote(since)}"
        lines = self.output(command).splitlines()
        return [line for line in lines if grep is None or grep in line]

    def journal_cursor(self) -> str:
        self.run("journalctl --sync")
        shown = self.output("journalctl --quiet --no-pager --lines=1 --show-cursor --output=cat")
        marker = "-- cursor: "
        for line in reversed(shown.splitlines()):
            if line.startswith(marker):
                return line.removeprefix(marker)
        raise RigError(f"{self.name}: the journal shows no cursor")
