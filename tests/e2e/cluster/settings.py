"""Names, addresses and directories of the rig.

All of them are fixed, so that `cluster-down` finds what a killed run left
behind without any record of it.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

STATE = Path("/var/lib/kschedpatch-e2e")
CGROUP = "kschedpatch-e2e"
BRIDGE = "kschedpatch-e2e"
MACHINE_PREFIX = "kse-"

# The operator's side of the bridge; every machine has one address here.
SUBNET = "10.213.77.0/24"
HOST_ADDRESS = "10.213.77.1"
GATE_ADDRESS = "10.213.77.2"
# The machines' second addresses: this machine has no route to them, the
# bastion has. A connection that works there went through the bastion.
INNER_SUBNET = "10.213.78.0/24"
POD_SUBNET = "10.214.0.0/16"
SERVICE_SUBNET = "10.96.0.0/12"

API_PORT = 6443
NODE_NAMES = ("cp1", "cp2", "cp3")
NODE_COUNTS = (1, 3)
"""Sizes of a cluster. Not two: its etcd would be lost with either node."""


@dataclass(frozen=True)
class Addresses:
    """Where one control-plane node is found."""

    address: str
    inner: str
    pods: str


def addresses(name: str) -> Addresses:
    number = NODE_NAMES.index(name) + 1
    return Addresses(
        f"10.213.77.{10 + number}", f"10.213.78.{10 + number}", f"10.214.{number}.0/24"
    )


GATE_INNER_ADDRESS = "10.213.78.2"


def cache_directory() -> Path:
    given = os.environ.get("KSCHEDPATCH_E2E_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kschedpatch-e2e"


def ready_binaries() -> Path | None:
    """A directory with `<module>/<binary>` or just `<binary>`, to use instead of building."""
    given = os.environ.get("KSCHEDPATCH_E2E_BINARIES")
    return Path(given) if given else None


def why_not_here() -> str | None:
    """The reason why this machine can't run the rig, if there is one.

    Root without a right that the rig needs is root in a container: a reason
    for people, but in CI the tests were meant to run and must fail.
    """
    if platform.system() != "Linux":
        return f"the e2e rig needs Linux, this is {platform.system()}"
    if os.geteuid() != 0:
        return "the e2e rig needs root: it makes namespaces, mounts and a bridge"
    missing = [name for name, bit in _CAPABILITIES.items() if not _capabilities() >> bit & 1]
    if missing and not in_ci():
        return f"the e2e rig needs {' and '.join(missing)}, which root lacks here"
    return None


_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_CHROOT": 18, "CAP_SYS_ADMIN": 21, "CAP_MKNOD": 27}


def _capabilities() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("CapEff:")).split()[1], 16)


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")
