"""kschedpatch as an operator starts it, against the nodes of the rig."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.printed import check_printed

from .cluster.cluster import Cluster
from .cluster.console import say
from .cluster.node import MANIFESTS, SCHEDULER_MANIFEST, Node

NODES = ("cp1", "cp2", "cp3")


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.out)
        return value


def kschedpatch(
    cluster: Cluster, *words: str, stdin: str = "", timeout: float = 600, env: Any = None
) -> Said:
    done = subprocess.run(
        [sys.executable, "-m", "kschedpatch", *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=env,
    )
    said = Said(done.returncode, done.stdout, done.stderr)
    check_printed(words, said.out, said.err)
    say(f"kschedpatch {words[0]}: exit code {said.code}")
    return said


def at_a_terminal(words: Sequence[str], answer: str) -> Said:
    """The same with a terminal of its own, where a question is answered once."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "kschedpatch", *words])  # noqa: S606
    shown, answered = b"", False
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
        if not answered and b"assword" in shown:
            answered = True
            os.write(terminal, answer.encode() + b"\n")
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Said(code, shown.decode(errors="replace"), "")


def access(cluster: Cluster) -> tuple[str, ...]:
    return ("--ssh-config", str(cluster.access.ssh_config))


def patch_file(directory: Path, spec: str, name: str = "e2e") -> str:
    path = directory / f"{name}.yaml"
    head = (
        f"apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {{name: {name}}}\nspec:\n"
    )
    path.write_text(head + "".join(f"  {line}\n" for line in spec.strip("\n").splitlines()))
    return str(path)


@dataclass(frozen=True)
class Standing:
    """What must be unchanged on a node where nothing live was touched."""

    manifest: bytes
    uid: str
    container: str


def standing(node: Node) -> Standing:
    [container] = node.containers("kube-scheduler")
    uid = str(container["labels"]["io.kubernetes.pod.uid"])
    return Standing(node.read(SCHEDULER_MANIFEST), uid, str(container["id"]))


def traces(node: Node) -> list[str]:
    """Files of a run that must not outlive it."""
    listed = node.output(
        f"ls -A {MANIFESTS} | grep -E '^[.]kschedpatch|canary'; ls -d /var/lib/kschedpatch/txn"
        " /run/kschedpatch/2* 2>/dev/null; true"
    )
    return listed.split()
