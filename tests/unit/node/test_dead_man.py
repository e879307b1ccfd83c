"""The dead man alone, with a switch that goes on in the worst moment."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.unit.node.shells import EVERY_SHELL

RESTORE = Path(__file__).parents[3] / "kschedpatch/node/agent/restore.sh"
OLD, NEW = "the old manifest\n", "the new manifest\n"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Node:
    """Armed, nothing switched yet, and the time is over."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.manifests = root / "etc/kubernetes/manifests"
        self.manifest = self.manifests / "kube-scheduler.yaml"
        self.token = self.manifests / ".kschedpatch-r1.old"
        self.txn = root / "var/lib/kschedpatch/txn"
        self._write(self.manifest, OLD)
        self._write(self.manifests / ".kschedpatch-r1.new", NEW)
        self._write(root / "proc/uptime", "50.00 1.0\n")
        self._write(root / "proc/sys/kernel/random/boot_id", "boot\n")
        self._write(root / "run/kschedpatch/r1", "")
        orders = {"boot": "boot", "run": "r1", "manifest": str(self.manifest), "deadline": "0"}
        for name, value in {**orders, "old": digest(OLD), "new": digest(NEW)}.items():
            self._write(self.txn / name, f"{value}\n")
        (root / "var/lib/kschedpatch/revisions/r1").mkdir(parents=True)

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def when_called(self, program: str, script: str) -> None:
        stub = self.root / "bin" / program
        self._write(stub, f'#!/bin/sh\n{script}\nexec /bin/{program} "$@"\n')
        stub.chmod(0o755)

    def restores(self, shell: list[str]) -> None:
        path = f"{self.root}/bin:{os.environ['PATH']}"
        subprocess.run(
            [*shell, str(RESTORE), "now"],
            env={"PATH": path, "KSCHEDPATCH_ROOT": str(self.root)},
            timeout=60,
            check=False,
        )


@pytest.mark.parametrize("shell", EVERY_SHELL)
@pytest.mark.parametrize("moment", ["date", "grep", "mv"])
def test_a_switch_that_begins_while_the_run_is_ended(
    shell: list[str], moment: str, tmp_path: Path
) -> None:
    """Its first rename, in each of the last steps of a dead man who has found nothing switched."""
    node = Node(tmp_path)
    once = tmp_path / "moved"
    rename = f"/bin/mv -f {node.manifest} {node.token}"
    node.when_called(moment, f"if [ ! -e {once} ]; then touch {once}; {rename}; fi")
    node.restores(shell)
    # busybox has programs of its own, and calls those.
    assert once.exists() or shell[0] == "busybox"
    assert node.manifest.read_text() == OLD
    assert not node.token.exists()
    assert not node.txn.exists()


def counting(node: Node, shell: list[str]) -> subprocess.Popen[bytes]:
    environment = {"PATH": os.environ["PATH"], "KSCHEDPATCH_ROOT": str(node.root)}
    return subprocess.Popen([*shell, str(RESTORE), "watch"], env=environment)


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_a_deadline_that_is_just_being_written_is_waited_for(
    shell: list[str], tmp_path: Path
) -> None:
    """Whoever arms him sets it anew as soon as he says that he counts: his first look may find an
    empty file."""
    node = Node(tmp_path)
    (node.txn / "deadline").write_text("")
    with counting(node, shell) as dead_man:
        time.sleep(0.7)
        (node.txn / "deadline").write_text("9000\n")
        time.sleep(0.7)
        assert node.txn.exists()
        (node.txn / "deadline").write_text("0\n")
        dead_man.wait(20)
    assert not node.txn.exists()


def test_a_deadline_that_stays_empty_is_none(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.manifest.rename(node.token)
    (node.txn / "deadline").write_text("")
    with counting(node, ["sh"]) as dead_man:
        dead_man.wait(30)
    assert node.manifest.read_text() == OLD
