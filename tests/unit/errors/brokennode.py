"""A directory that looks like a node on which something is wrong, for the script on nodes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

RUN = "20260101-000000-abcd"
STATE = "var/lib/kschedpatch"
TXN = f"{STATE}/txn"
KEPT = f"{STATE}/revisions/{RUN}"
MANIFESTS = "etc/kubernetes/manifests"
MANIFEST = f"{MANIFESTS}/kube-scheduler.yaml"
NEW, OLD = (f"{MANIFESTS}/.kschedpatch-{RUN}.{end}" for end in ("new", "old"))
GENERATIONS = "etc/kubernetes/kschedpatch/generations"
PATCHES = "etc/kubernetes/kschedpatch/kubeadm-patches"
PATCH = f"{PATCHES}/kube-scheduler50-kschedpatch+strategic.yaml"
LOGS = "var/log/pods"
UPLOAD = "a" * 64


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Node:
    """A root directory, and programs that stand before those of this machine."""

    def __init__(self, place: Path) -> None:
        self.root = place / "root"
        self.programs = place / "programs"
        self.programs.mkdir(parents=True)
        self.file("proc/uptime", "1000.00 1.00\n")
        self.file("proc/sys/kernel/random/boot_id", "boot\n")
        self.file("proc/net/tcp", "")
        self.file(MANIFEST, "old")
        self.directory("run")

    def file(self, name: str, text: str = "") -> Node:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self

    def directory(self, name: str) -> Node:
        """Not empty: neither removed by `rm -f` nor replaced by a rename."""
        (self.root / name / "in-the-way").mkdir(parents=True)
        return self

    def program(self, name: str, body: str) -> Node:
        path = self.programs / name
        path.unlink(missing_ok=True)  # it may be a link to one of this machine's
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return self

    def locked(self, run: str = RUN) -> Node:
        """This run's lock, with all that a switch needs."""
        for name, text in (("run", run), ("extent", "60"), ("deadline", "9000"), ("boot", "boot")):
            self.file(f"{TXN}/{name}", f"{text}\n")
        for name, text in (
            ("kind", "apply"),
            ("who", "ops"),
            ("after", "new"),
            ("patch.yaml", ""),
        ):
            self.file(f"{TXN}/{name}", text)
        return self.file(f"{TXN}/base")

    def armed(self) -> Node:
        """The dead man is this very process: he lives, and does nothing."""
        self.locked().file(NEW, "new").file(f"{TXN}/armed", f"{os.getpid()}\n")
        self.file(f"{TXN}/new", digest("new")).file(f"{TXN}/old", digest("old"))
        return self.file(f"{KEPT}/meta", "")

    def switched(self) -> Node:
        self.armed().file(OLD, "old").file(MANIFEST, "new")
        (self.root / NEW).unlink()
        return self


def deadline(node: Node) -> Node:
    return replaced(node, f"{TXN}/deadline")


def replaced(node: Node, name: str) -> Node:
    """A directory where a file should go."""
    (node.root / name).unlink(missing_ok=True)
    return node.directory(name)


def lying(node: Node, *calls: int) -> Node:
    """A disk that gives other bytes than were written, at these looks."""
    count = node.programs / "count"
    bad = "|".join(str(call) for call in calls)
    looks = f"printf . >>{count}; case $(wc -c <{count}) in {bad}) echo bad; exit 1 ;; esac"
    return node.program("sha256sum", f'{looks}\nexec /usr/bin/sha256sum "$@"')


def asleep(node: Node, meanwhile: str) -> Node:
    """Something happens while a switch waits."""
    return node.armed().program("sleep", f"{meanwhile}\nexit 0")


def spoilt(node: Node) -> Node:
    """A file that the manifest points to has changed since it was staged."""
    node.file(f"{TXN}/generation", "g1").file(f"{GENERATIONS}/g1/f", "y")
    return node.file(f"{GENERATIONS}/g1/.sha256", f"{digest('x')}  f\n")


def too_long(node: Node) -> str:
    """The node's clock runs on, and nothing else happens."""
    return f"{{ echo 9000.00 1.00 >{node.root / 'proc/uptime'}; exec sleep 9; }}"


def importing(node: Node, how: str) -> Node:
    endpoint = "--container-runtime-endpoint=unix:///run/containerd/containerd.sock"
    node.locked().file("var/lib/kubelet/kubeadm-flags.env", endpoint)
    node.file(f"{STATE}/uploads/{digest('archive')}.part", "archive")
    return node.program("ctr", how)


def killed(node: Node) -> Node:
    """All that is left of a new pod is what the runtime remembers."""
    node.locked().directory(f"{LOGS}/kube-system_kube-scheduler-cp1_{'b' * 32}")
    node.program("crictl", "if [ $1 = ps ]; then echo id; else echo 137 OOMKilled; fi")
    return hurried(node)


def denied(node: Node) -> Node:
    """All that is left of it is an event."""
    node.locked().file(f"{TXN}/switched").file("etc/kubernetes/admin.conf")
    node.program("crictl", "exit 1")
    node.program("kubectl", "echo 9999-01-01T00:00:00Z uid OutOfcpu no room")
    return hurried(node)


def leading(node: Node) -> Node:
    """Canary and live scheduler, and each says that it has the lease."""
    node.armed().program("crictl", "exit 0").program("curl", "exit 1")
    for number, pod in enumerate(("kube-scheduler", "kschedpatch-canary"), 1):
        uid = str(number) * 32
        node.file(f"proc/{number}/mountinfo", f"/pods/{uid}/containers/{pod}/x\n")
        log = f"{LOGS}/kube-system_{pod}-cp1_{uid}/{pod}/0.log"
        node.file(log, "successfully acquired lease kube-system/x\n")
    return node


def hurried(node: Node) -> Node:
    """Five seconds pass with each look."""
    clock = node.root / "proc/uptime"
    step = f"read -r now rest <{clock}; echo $((${{now%.*}} + 5)).00 1.00 >{clock}"
    return node.program("sleep", step)


def upgrading(node: Node) -> Node:
    return node.file("proc/77/cmdline", "kubeadm\0upgrade\0apply\0")


def listening() -> str:
    line = "   0: 00000000:{:04X} 00000000:0000 0A \n"
    return "".join(line.format(port) for port in range(10269, 10280))
