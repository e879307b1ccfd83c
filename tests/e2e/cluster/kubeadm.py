"""kubeadm's configuration for this rig, by version, and the calls of init and join.

Everything that can stay kubeadm's default does: the tests are about clusters
as people have them. What differs is what nested machines force.
"""

from __future__ import annotations

import json
from typing import Any

from .balancer import ENDPOINT
from .machine import Machine
from .settings import SERVICE_SUBNET
from .versions import KubernetesVersion

# Both are made up beforehand, so a join needs nothing from the first node's output.
_TOKEN = "e2e0rg.0123456789abcdef"  # noqa: S105
_CERTIFICATE_KEY = "5f" * 32
CONFIG_PATH = "/etc/kubeadm-rig.yaml"

Document = dict[str, Any]


def init(node: Machine, version: KubernetesVersion) -> None:
    node.put(CONFIG_PATH.lstrip("/"), _documents(_init_documents(node, version)))
    node.run(
        # kube-proxy runs as a unit, see its file.
        f"kubeadm init --config={CONFIG_PATH} --upload-certs"
        " --skip-phases=addon/kube-proxy,show-join-command",
        timeout=180,
    )


def join(
    node: Machine, version: KubernetesVersion, *, command: str = "kubeadm", patches: str = ""
) -> None:
    document = _join_document(node, version)
    if patches:
        document["patches"] = {"directory": patches}
    node.put(CONFIG_PATH.lstrip("/"), _documents([document]))
    node.run(f"{command} join --config={CONFIG_PATH}", timeout=180)


def kubelet_flags(node: Machine, version: KubernetesVersion) -> str:
    """For /etc/default/kubelet."""
    flags = [
        f"--node-ip={node.address}",
        # Without CAP_SYS_RESOURCE nobody may lower the score.
        "--oom-score-adj=0",
    ]
    if version.number <= 28:
        # Must be empty here, which no file can say: kubeadm drops an empty list.
        flags.append("--enforce-node-allocatable=")
    return f"KUBELET_EXTRA_ARGS={' '.join(flags)}\n"


def _init_documents(node: Machine, version: KubernetesVersion) -> list[Document]:
    extra_args = {
        "unsafe-no-fsync": "true"
    }  # the disk is shared, and survives every "power cut" of the rig
    arguments: object = extra_args
    if version.config_api.endswith("v1beta4"):
        arguments = [{"name": name, "value": value} for name, value in extra_args.items()]
    return [
        {
            "apiVersion": version.config_api,
            "kind": "InitConfiguration",
            "bootstrapTokens": [{"token": _TOKEN, "ttl": "24h0m0s"}],
            "certificateKey": _CERTIFICATE_KEY,
            "localAPIEndpoint": {"advertiseAddress": node.address},
            "nodeRegistration": _registration(node),
        },
        {
            "apiVersion": version.config_api,
            "kind": "ClusterConfiguration",
            "kubernetesVersion": f"v{version.release}",
            "controlPlaneEndpoint": ENDPOINT,
            "networking": {"serviceSubnet": SERVICE_SUBNET},
            "etcd": {"local": {"extraArgs": arguments}},
        },
        _kubelet_configuration(version),
    ]


def _join_document(node: Machine, version: KubernetesVersion) -> Document:
    return {
        "apiVersion": version.config_api,
        "kind": "JoinConfiguration",
        "discovery": {
            "bootstrapToken": {
                "token": _TOKEN,
                "apiServerEndpoint": ENDPOINT,
                "unsafeSkipCAVerification": True,
            }
        },
        "controlPlane": {
            "certificateKey": _CERTIFICATE_KEY,
            "localAPIEndpoint": {"advertiseAddress": node.address},
        },
        "nodeRegistration": _registration(node),
    }


def _registration(node: Machine) -> Document:
    return {
        "name": node.name,
        "criSocket": "unix:///run/containerd/containerd.sock",
        "ignorePreflightErrors": ["all"],
        # There are no other nodes that could run the tests' pods.
        "taints": [],
    }


def _kubelet_configuration(version: KubernetesVersion) -> Document:
    configuration: Document = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "failSwapOn": False,
        # The nodes share this machine's disk; its state is not the cluster's business.
        "evictionHard": {
            "memory.available": "50Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
        },
        "imageGCHighThresholdPercent": 100,
    }
    if version.number > 28:
        configuration["enforceNodeAllocatable"] = ["none"]
    if version.number >= 31:
        configuration["failCgroupV1"] = False
    return configuration


def _documents(documents: list[Document]) -> str:
    # JSON is YAML, and needs no library.
    return "\n---\n".join(json.dumps(document, indent=2) for document in documents) + "\n"
