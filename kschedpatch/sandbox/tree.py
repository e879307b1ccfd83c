"""The file tree of a fresh sandbox node, as kubeadm leaves it."""

from __future__ import annotations

import base64
import secrets
import shutil
from pathlib import Path

from kschedpatch.model.kubeversion import KubeVersion

_HERE = Path(__file__).resolve().parent
#: The last patch release of each minor that a sandbox can be of.
VERSIONS = {28: KubeVersion(28, 15), 31: KubeVersion(31, 14), 34: KubeVersion(34, 11)}

_KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- cluster:
    server: https://{address}:6443
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    user: {user}
  name: {user}@kubernetes
current-context: {user}@kubernetes
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
"""

#: Nobody must ever see it in an argument, in an output or in a file that stays.
ADMIN_KEY = "simulated private key of the administrator"


_COMPONENT = """apiVersion: v1
kind: Pod
metadata:
  labels:
    component: {name}
    tier: control-plane
  name: {name}
  namespace: kube-system
spec:
  containers:
  - command:
    - {name}
    image: registry.k8s.io/{image}
    name: {name}
    ports:
    - containerPort: {port}
      name: probe-port
      protocol: TCP
  hostNetwork: true
  priority: 2000001000
  priorityClassName: system-node-critical
status: {{}}
"""


def scheduler_manifest(minor: int) -> str:
    """kube-scheduler.yaml as kubeadm of this minor writes it."""
    text = (_HERE / "tree" / f"kube-scheduler-1.{minor}.yaml").read_text("utf-8")
    return text.replace("VERSION", f"v{VERSIONS[minor]}")


def scheduler_image(minor: int) -> str:
    return f"registry.k8s.io/kube-scheduler:v{VERSIONS[minor]}"


def plant(root: Path, minor: int, address: str) -> None:
    version = VERSIONS[minor]
    manifests = root / "etc/kubernetes/manifests"
    for directory in (
        manifests,
        root / "var/lib/kubelet",
        root / "var/lib/containerd/snapshots",
        root / "var/log/pods",
        root / "etc/systemd/system",
        root / "proc/sys/kernel/random",
        root / "run/systemd/system",
        root / "tmp",
    ):
        directory.mkdir(parents=True, exist_ok=True)
    _secret(manifests / "kube-scheduler.yaml", scheduler_manifest(minor))
    for name, image, port in (
        ("kube-apiserver", f"kube-apiserver:v{version}", 6443),
        ("kube-controller-manager", f"kube-controller-manager:v{version}", 10257),
        ("etcd", "etcd:3.6.5-0", 2381),
    ):
        _secret(manifests / f"{name}.yaml", _COMPONENT.format(name=name, image=image, port=port))
    for name, user in (
        ("admin.conf", "kubernetes-admin"),
        ("super-admin.conf", "kubernetes-super-admin"),
        ("scheduler.conf", "system:kube-scheduler"),
    ):
        certificate, key = (
            base64.b64encode(text.encode()).decode()
            for text in (f"simulated certificate of {user}", ADMIN_KEY)
        )
        text = _KUBECONFIG.format(address=address, user=user, certificate=certificate, key=key)
        _secret(root / "etc/kubernetes" / name, text)
    (root / "var/lib/kubelet/config.yaml").write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "fileCheckFrequency: 0s\nstaticPodPath: /etc/kubernetes/manifests\n"
    )
    endpoint = "unix:///var/run/containerd/containerd.sock"
    (root / "var/lib/kubelet/kubeadm-flags.env").write_text(
        f'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint={endpoint}"\n'
    )
    (root / "etc/machine-id").write_text(secrets.token_hex(16) + "\n")
    (root / "etc/localtime").write_text("TZif2\n")


def _secret(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    path.chmod(0o600)


def plant_tools(root: Path) -> None:
    """The stubs, first in the node's PATH."""
    tools = root / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    for stub in sorted((_HERE / "stubs").glob("*.sh")):
        target = tools / (".ask" if stub.stem == "ask" else stub.stem)
        shutil.copyfile(stub, target)
        target.chmod(0o755)
    (tools / "wget").unlink(missing_ok=True)
    (tools / "wget").symlink_to("curl")
