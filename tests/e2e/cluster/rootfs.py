"""The file tree that every machine of the rig starts from: made once, then copied."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

from .access import PASSWORD_USER, SUDO_PASSWORD, SUDO_USER
from .build import lock
from .console import RigError, run, say
from .settings import cache_directory

SUITE = "bookworm"
# Part of the cache's key: to be raised with every change of _settle.
_RECIPE = 1
_PACKAGES = (
    "busybox-static",
    "ca-certificates",
    "conntrack",
    "containerd",
    "containernetworking-plugins",
    "curl",
    "dbus",
    "haproxy",
    "iproute2",
    "iptables",
    "openssh-server",
    "procps",
    "runc",
    "socat",
    "sudo",
    "systemd",
    "systemd-sysv",
)
# Nothing reads these in a node, and each copy would carry them.
_BALLAST = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "var/cache/apt",
    "var/lib/apt/lists",
)
# Which of the tree's services run is decided machine by machine.
_DISABLED = ("containerd", "haproxy", "ssh", "kubelet")


def base_tree() -> Path:
    store = cache_directory() / "rootfs"
    store.mkdir(parents=True, exist_ok=True)
    recipe = repr((SUITE, _PACKAGES, _RECIPE, _BALLAST, _DISABLED, SUDO_PASSWORD))
    key = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    target = store / f"{SUITE}-{key}"
    with lock(store / ".lock", f"another debootstrap in {store}"):
        if not target.is_dir():
            scratch = store / f".new-{SUITE}"
            if scratch.exists():
                shutil.rmtree(scratch)
            _debootstrap(scratch)
            _settle(scratch)
            scratch.rename(target)
    return target


def _debootstrap(target: Path) -> None:
    if shutil.which("debootstrap") is None:
        raise RigError("not installed: debootstrap")
    started = time.monotonic()
    say(f"making the nodes' file tree with debootstrap ({SUITE})")
    command = [
        # In namespaces of its own: whatever ends this run, also the mounts and processes of
        # a debootstrap that is cut off vanish.
        *("setpriv", "--pdeathsig", "KILL"),
        *("unshare", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"),
        "debootstrap",
        "--variant=minbase",
        f"--include={','.join(_PACKAGES)}",
        SUITE,
        str(target),
    ]
    mirror = os.environ.get("KSCHEDPATCH_E2E_DEBIAN_MIRROR")
    if mirror:
        command.append(mirror)
    log = target.with_suffix(".log")
    with log.open("wb") as output:
        code = subprocess.run(
            command, stdout=output, stderr=subprocess.STDOUT, check=False
        ).returncode
    if code != 0:
        raise RigError(f"debootstrap failed:\n{log.read_text()[-3000:]}")
    log.unlink()
    say(f"debootstrap took {time.monotonic() - started:.0f} s")


def _settle(tree: Path) -> None:
    """Everything that is the same on every machine."""
    for path in _BALLAST:
        shutil.rmtree(tree / path, ignore_errors=True)
        (tree / path).mkdir()
    for service in _DISABLED:
        for wanted in (tree / "etc/systemd/system").glob(f"*.wants/{service}.service"):
            wanted.unlink()
    # Each machine gets its own: host keys that the operator knows beforehand.
    for key in (tree / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    (tree / "etc/machine-id").write_text("")
    # The journal must outlive a reboot: it tells what happened before it.
    (tree / "var/log/journal").mkdir(exist_ok=True)
    for user in (SUDO_USER, PASSWORD_USER):
        run(["chroot", str(tree), "useradd", "--create-home", "--shell", "/bin/bash", user])
    run(["chroot", str(tree), "chpasswd"], stdin=f"{PASSWORD_USER}:{SUDO_PASSWORD}\n".encode())
    run(["chroot", str(tree), "systemctl", "enable", "systemd-networkd", "ssh"])
    # Waits for a network that is configured statically and at once.
    run(
        [
            "chroot",
            str(tree),
            "systemctl",
            "mask",
            "systemd-networkd-wait-online.service",
            "systemd-resolved",
        ]
    )
