"""Nodes to measure on: an sshd each on the loopback, and a file tree each as kubeadm leaves it.

No kubelet, no API server, and of this machine's processes none is to be seen. Every contestant
meets the same servers with the same settings, and the trees as they were at first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from kschedpatch.node.connectoptions import ConnectOptions
from tests.bench.jobspec import AFTER, BEFORE, FILES, MANIFESTS
from tests.integration.sshd import SSHD, Sshd, make_key

CAN_SERVE = SSHD is not None

#: Whoever connects is let in at once, with or without SFTP; nothing is asked of anybody else.
_SETTINGS = (
    "MaxStartups 1000",
    "MaxSessions 100",
    "LoginGraceTime 600",
    "UseDNS no",
    "LogLevel VERBOSE",
    "Subsystem sftp internal-sftp",
)
_PROCESSES, _CONTAINED = 200, 60
_FORMER = "former-"
_STUBS = {
    # Every image is there, nothing runs; this machine's own runtime and journal are hidden.
    "crictl": "#!/bin/sh\n",
    "journalctl": "#!/bin/sh\n",
    "kubelet": "#!/bin/sh\necho Kubernetes v1.34.2\n",
}


class SshNode(NamedTuple):
    name: str
    root: Path
    server: Sshd

    @property
    def manifest(self) -> Path:
        return self.root / MANIFESTS / "kube-scheduler.yaml"


class SshNodes:
    """``ssh_config`` has all that is needed to reach them by their names."""

    def __init__(self, directory: Path, nodes: tuple[SshNode, ...], key: Path) -> None:
        self.directory = directory
        self.nodes = nodes
        self.key = key
        self.known_hosts = directory / "known_hosts"
        self.ssh_config = directory / "ssh_config"
        self.user = nodes[0].server.user
        self.known_hosts.write_text("".join(n.server.known_hosts_line() for n in nodes))
        self.ssh_config.write_text(self._config())

    def _config(self) -> str:
        hosts = (
            f"Host {node.name}\n  Hostname 127.0.0.1\n  Port {node.server.port}\n"
            for node in self.nodes
        )
        return "".join(hosts) + (
            f"Host *\n  User {self.user}\n  IdentityFile {self.key}\n"
            "  IdentitiesOnly yes\n  IdentityAgent none\n  BatchMode yes\n"
            f"  UserKnownHostsFile {self.known_hosts}\n  GlobalKnownHostsFile /dev/null\n"
        )

    @property
    def names(self) -> list[str]:
        return [node.name for node in self.nodes]

    @property
    def options(self) -> ConnectOptions:
        return ConnectOptions(ssh_config=self.ssh_config)

    def first(self, count: int) -> SshNodes:
        """Some of them, by a configuration of their own."""
        directory = self.directory / f"first-{count}"
        directory.mkdir(exist_ok=True)
        return SshNodes(directory, self.nodes[:count], self.key)

    def plant(self) -> None:
        """The trees as they were at first."""
        for node in self.nodes:
            _plant(node)
        # What one contestant has left to be written must not be paid for by the next.
        subprocess.run(["sync", "-f", str(self.directory)], check=False)

    def clear_away(self) -> None:
        """The trees of earlier rounds, where they are large."""
        for node in self.nodes:
            for former in node.root.parent.glob(f"{_FORMER}*"):
                shutil.rmtree(former)

    def check_done(self, who: str, *, as_planned: bool = False) -> None:
        """A contestant that did not do the job is no contestant. ``as_planned``: the new manifest
        is one that our own planner made, by a patch that asks for the same."""
        for node in self.nodes:
            etc, var = (
                {path: path.read_bytes() for path in (node.root / top).rglob("*") if path.is_file()}
                for top in ("etc", "var")
            )
            staged = {path.name: content for path, content in etc.items()}
            wrong = [name for name, content in FILES.items() if staged.get(name) != content]
            after = etc.get(node.manifest, b"")
            if not (_is_by_our_patch(after) if as_planned else after == AFTER):
                wrong.append("kube-scheduler.yaml")
            if BEFORE not in (*etc.values(), *var.values()):
                wrong.append("the backup")
            if wrong:
                raise RuntimeError(f"{who} did not do it on {node.name}: {', '.join(wrong)}")


def _is_by_our_patch(manifest: bytes) -> bool:
    wanted = (b"kschedpatch.io/patch: bench\n", b"- --v=3\n", *(name.encode() for name in FILES))
    return all(text in manifest for text in wanted)


def _plant(node: SshNode) -> None:
    root = node.root
    # Aside, and not away: where many files have just been deleted, ext4 looks long for the place of
    # a new one, and the contestant that makes the most of them pays for the deletion.
    aside = Path(tempfile.mkdtemp(dir=root.parent, prefix=_FORMER))
    for name in ("etc", "var", "run", "tmp"):
        if (root / name).exists():
            (root / name).rename(aside / name)
    for name in (MANIFESTS, "var/lib/kubelet", "var/log/pods", "run", "tmp", "bin"):
        (root / name).mkdir(parents=True, exist_ok=True)
    node.manifest.write_bytes(BEFORE)
    node.manifest.chmod(0o600)
    (root / "var/lib/kubelet/config.yaml").write_text("staticPodPath: /etc/kubernetes/manifests\n")
    # By it the tool notices one machine under two names.
    machine_id = hashlib.sha256(node.name.encode()).hexdigest()[:32]
    (root / "etc/machine-id").write_text(machine_id + "\n")
    for name, text in _STUBS.items():
        (root / "bin" / name).write_text(text)
        (root / "bin" / name).chmod(0o755)


def _plant_processes(root: Path, contained: int | None) -> None:
    """As many as a small control-plane node has, kernel threads included: a look goes through all
    of them. Each is this very process, so that what else this machine does is not found there; some
    are one that sees other mounts, as those in containers do."""
    proc = root / "proc"
    proc.mkdir()
    for name in ("uptime", "meminfo", "sys"):
        (proc / name).symlink_to(f"/proc/{name}")
    # Who listens is asked of ss on a real node; to look through a small file costs about the same.
    (proc / "net").mkdir()
    for name in ("tcp", "tcp6"):
        (proc / "net" / name).write_bytes(Path("/proc/net", name).read_bytes())
    for number in range(_PROCESSES):
        inside = contained is not None and number < _CONTAINED
        (proc / str(1001 + number)).symlink_to(f"/proc/{contained if inside else os.getpid()}")


@contextmanager
def _a_contained_process() -> Iterator[int | None]:
    """None where this machine lets nobody have mounts of his own."""
    words = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]
    line = [*words, "sh", "-c", "echo; exec sleep infinity"]
    try:
        sleeper = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        yield None
        return
    with sleeper:
        assert sleeper.stdout is not None
        yield sleeper.pid if sleeper.stdout.readline() else None
        sleeper.kill()


@contextmanager
def ssh_nodes(count: int, said: Callable[[str], None]) -> Iterator[SshNodes]:
    """Started here, ended here by their process ids, whatever happens in between.

    A dead man that was armed goes by himself: his transaction goes with the tree.
    """
    said(f"starting {count} sshd")
    with ExitStack() as stack:
        # Short: ssh's control sockets lie below it.
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kspb-")))
        key = make_key(directory / "key")
        contained = stack.enter_context(_a_contained_process())
        nodes = []
        for number in range(1, count + 1):
            name = f"cp{number}"
            root = directory / name / "root"
            root.mkdir(parents=True)
            _plant_processes(root, contained)
            environment = {
                "KSCHEDPATCH_ROOT": str(root),
                "PATH": f"{root}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            }
            server = Sshd(
                directory / name / "sshd", client_key=key, lines=_SETTINGS, environment=environment
            )
            nodes.append(SshNode(name, root, stack.enter_context(server)))
        made = SshNodes(directory, tuple(nodes), key)
        made.plant()
        yield made
