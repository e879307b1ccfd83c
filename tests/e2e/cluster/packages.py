"""The Debian packages that the rig needs on this machine."""

from __future__ import annotations

import os
import shutil

from .console import RigError, run, say

# A command that each package brings: what is already there by any other way
# is not installed again.
_NEEDED = {
    "debootstrap": "debootstrap",
    "systemd-nspawn": "systemd-container",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "losetup": "mount",
    "mkfs.ext4": "e2fsprogs",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
}
# Root's PATH in a minimal container may lack these.
_SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"


def install_missing() -> None:
    os.environ["PATH"] = f"{os.environ.get('PATH', '/usr/bin:/bin')}:{_SYSTEM_PATH}"
    missing = sorted(
        {package for command, package in _NEEDED.items() if shutil.which(command) is None}
    )
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise RigError(f"not installed, and there is no apt-get here: {', '.join(missing)}")
    say(f"installing {', '.join(missing)}")
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if run(install, timeout=600, check=False, env=env).returncode != 0:
        # A machine that was never asked for its package lists has none.
        run(["apt-get", "update"], timeout=300, env=env)
        run(install, timeout=600, env=env)
