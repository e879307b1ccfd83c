"""Which Kubernetes releases the rig builds, and what differs between them.

A minor's patch release is the one of `modules/kubernetes-<minor>/go.mod`, or of
`modules/scheduler-<minor>/go.mod` where there is only its scheduler and no cluster, or of
`modules/upgrade-<minor>/go.mod` where a cluster of the minor before is upgraded to it.
Not every release has all its staging modules published: change one with
`python -m tests.e2e.cluster.pin`, which fails at once when a module is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "modules"
DEFAULT_MINOR = "1.34"
_REQUIREMENT = re.compile(r"^(?:require |\t)k8s\.io/kubernetes v(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class KubernetesVersion:
    minor: str
    release: str
    modules: Path
    """Where its pins are."""

    @property
    def number(self) -> int:
        return int(self.minor.split(".")[1])

    @property
    def config_api(self) -> str:
        """The newest kubeadm configuration API that this minor reads."""
        return "kubeadm.k8s.io/v1beta4" if self.number >= 31 else "kubeadm.k8s.io/v1beta3"

    @property
    def ready_path(self) -> str:
        """Where the scheduler tells its readiness: before 1.31 there is only /healthz."""
        return "/readyz" if self.number >= 31 else "/healthz"

    @property
    def linker_flags(self) -> str:
        stamps = {
            "k8s.io/component-base/version.gitVersion": f"v{self.release}",
            "k8s.io/component-base/version.gitMajor": "1",
            "k8s.io/component-base/version.gitMinor": str(self.number),
            "k8s.io/client-go/pkg/version.gitVersion": f"v{self.release}",
        }
        flags = ["-s", "-w"]
        if self.number <= 28:
            # Dependencies of that age reach into the runtime by go:linkname,
            # which newer linkers refuse.
            flags.append("-checklinkname=0")
        flags += [f"-X {name}={value}" for name, value in stamps.items()]
        return " ".join(flags)


def known_minors() -> list[str]:
    """The minors that a cluster can be made of."""
    return _pinned("kubernetes-")


def scheduler_minors() -> list[str]:
    """The minors that there is a scheduler of."""
    return _in_order({*_pinned("kubernetes-"), *_pinned("scheduler-")})


def kubernetes_version(minor: str) -> KubernetesVersion:
    if minor not in known_minors():
        raise ValueError(f"no Kubernetes {minor} here; there are {', '.join(known_minors())}")
    return _version(minor, MODULES / f"kubernetes-{minor}")


def scheduler_version(minor: str) -> KubernetesVersion:
    if minor not in scheduler_minors():
        raise ValueError(f"no scheduler {minor} here; there are {', '.join(scheduler_minors())}")
    whole = MODULES / f"kubernetes-{minor}"
    return _version(minor, whole if whole.is_dir() else MODULES / f"scheduler-{minor}")


def upgrade_version(minor: str) -> KubernetesVersion:
    """A minor that clusters are upgraded to; none is made of it, and no scheduler is compared."""
    return _version(minor, MODULES / f"upgrade-{minor}")


def _version(minor: str, modules: Path) -> KubernetesVersion:
    return KubernetesVersion(minor, release_of(modules), modules)


def release_of(module: Path) -> str:
    """The Kubernetes release that a Go module is pinned to."""
    match = _REQUIREMENT.search((module / "go.mod").read_text())
    if match is None:
        raise ValueError(f"{module.parent.name}/{module.name}/go.mod names no k8s.io/kubernetes")
    return match[1]


def _pinned(prefix: str) -> list[str]:
    return _in_order(path.name.removeprefix(prefix) for path in MODULES.glob(f"{prefix}*"))


def _in_order(minors: Iterable[str]) -> list[str]:
    return sorted(minors, key=lambda minor: int(minor.split(".")[1]))
