"""Changes of kubeadm's manifest that break the scheduler, each in its own way, with what the run
must make of it: on a real kubelet and on the simulated one alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kschedpatch.model.rollout import FailureReason

Mutation = Callable[[str], str]


def flag(text: str) -> Mutation:
    return lambda manifest: manifest.replace(
        "    - --leader-elect=true", f"    - --leader-elect=true\n    - {text}"
    )


def mounted(host: str, kind: str) -> Mutation:
    def mutate(manifest: str) -> str:
        manifest = manifest.replace(
            "    volumeMounts:\n",
            f"    volumeMounts:\n    - mountPath: {host}\n      name: extra\n",
        )
        volume = (
            f"  volumes:\n  - hostPath:\n      path: {host}\n      type: {kind}\n    name: extra\n"
        )
        return manifest.replace("  volumes:\n", volume)

    return mutate


def without_volume(manifest: str) -> str:
    return manifest.replace(
        "      name: kubeconfig\n      readOnly", "      name: nobody\n      readOnly"
    )


def other_image(manifest: str) -> str:
    return manifest.replace("kube-scheduler:v", "kube-scheduler-nowhere:v")


def without_rights(manifest: str) -> str:
    """The kubelet's own identity: it may not list what a scheduler must."""
    manifest = manifest.replace(
        "--kubeconfig=/etc/kubernetes/scheduler.conf", "--kubeconfig=/etc/kubernetes/kubelet.conf"
    )
    return mounted("/var/lib/kubelet/pki", "Directory")(
        mounted("/etc/kubernetes/kubelet.conf", "File")(manifest).replace(
            "name: extra", "name: kubelet-conf"
        )
    )


def elsewhere(manifest: str) -> str:
    """A node that this one is not: the kubelet admits the pod no more than the scheduler would."""
    return manifest.replace(
        "  volumes:\n", "  nodeSelector: {example.org/nowhere: x}\n  volumes:\n"
    )


STRANGE_CONFIG = "/etc/kubernetes/strange.yaml"
STRANGE_TEXT = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf}
profiles:
- plugins: {score: {enabled: [{name: Strange}]}}
"""


def unknown_plugin(manifest: str) -> str:
    """The file with it lies on the node already (``STRANGE_CONFIG``)."""
    return mounted(STRANGE_CONFIG, "File")(flag(f"--config={STRANGE_CONFIG}")(manifest))


class Broken(NamedTuple):
    mutate: Mutation
    reason: FailureReason
    sign: str
    """Words of the scheduler or the kubelet that the failure must quote."""


BROKEN = {
    "bad flag": Broken(flag("--bogus=1"), FailureReason.CRASH, "unknown flag: --bogus"),
    "no such config": Broken(
        flag("--config=/nowhere.yaml"), FailureReason.CRASH, "open /nowhere.yaml"
    ),
    "unknown plugin": Broken(unknown_plugin, FailureReason.CRASH, 'Strange\\" does not exist'),
    "missing image": Broken(other_image, FailureReason.IMAGE, "kube-scheduler-nowhere"),
    "missing hostPath": Broken(
        mounted("/nowhere", "Directory"), FailureReason.MOUNT, "/nowhere is not a directory"
    ),
    "unparsable": Broken(lambda text: text + "\n}", FailureReason.REFUSED, "couldn't parse as pod"),
    "refused": Broken(without_volume, FailureReason.REFUSED, "kube-scheduler.yaml"),
    "admission denied": Broken(elsewhere, FailureReason.DENIED, "NodeAffinity"),
}
