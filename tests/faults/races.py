"""Races for the token: the very commands of confirm and restore.sh, and the verbs themselves."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections import Counter
from importlib.resources import files
from pathlib import Path

from kschedpatch.node.script import agent_script

# One round a line: who got it. Both start at once; now the one, now the other is started first.
_ROUNDS = """
cd "$1" || exit 1
confirm() { if rm -- token 2>/dev/null; then : >confirmed; fi; }
restore() { if mv -f token taken 2>/dev/null; then : >restored; fi; }
i=0
while [ $i -lt "$2" ]; do
  i=$((i + 1))
  rm -f confirmed restored taken
  : >token
  if [ $((i % 2)) = 0 ]; then confirm & restore & else restore & confirm & fi
  wait
  if [ -e confirmed ] && [ -e restored ]; then echo both
  elif [ -e confirmed ]; then echo confirmed
  elif [ -e restored ]; then echo restored
  else echo neither; fi
done
"""


def race_of_commands(directory: Path, rounds: int) -> Counter[str]:
    done = subprocess.run(
        ["sh", "-c", _ROUNDS, "race", str(directory), str(rounds)],
        check=True,
        capture_output=True,
        text=True,
    )
    return Counter(done.stdout.split())


def race_of_verbs(directory: Path, rounds: int) -> Counter[str]:
    """A switched transaction on plain files, confirmed and restored at the same time."""
    won: Counter[str] = Counter()
    tools = directory / "bin"
    tools.mkdir()
    # Nothing runs here whose end would have to be waited for.
    for name in ("sleep", "crictl", "systemctl"):
        (tools / name).write_text("#!/bin/sh\nexit 0\n")
        (tools / name).chmod(0o755)
    root = directory / "root"
    environment = {
        **os.environ,
        "KSCHEDPATCH_ROOT": str(root),
        "PATH": f"{tools}:{os.environ['PATH']}",
    }
    for number in range(rounds):
        won[_round(root, f"20261116-00-{number}", environment, number)] += 1
    return won


def _round(root: Path, run: str, environment: dict[str, str], number: int) -> str:
    old, new = b"old manifest\n", b"new manifest\n"
    manifests, state = root / "etc/kubernetes/manifests", root / "var/lib/kschedpatch"
    for path in (manifests, state / "txn", state / "revisions" / run, root / "proc/sys/kernel"):
        path.mkdir(parents=True, exist_ok=True)
    (state / "restore.sh").write_bytes(
        files("kschedpatch.node").joinpath("agent/restore.sh").read_bytes()
    )
    (root / "proc/uptime").write_text("100.00 100.00\n")
    manifest = manifests / "kube-scheduler.yaml"
    manifest.write_bytes(new)
    (manifests / f".kschedpatch-{run}.old").write_bytes(old)
    orders = {
        "run": run,
        "manifest": str(manifest),
        "old": hashlib.sha256(old).hexdigest(),
        "new": hashlib.sha256(new).hexdigest(),
        "deadline": "0",
    }
    for name, value in orders.items():
        (state / "txn" / name).write_text(f"{value}\n")
    commands = [
        ["sh", "-c", agent_script(), "kschedpatch", "mark", "confirm", f"run={run}"],
        ["sh", str(state / "restore.sh"), "now"],
    ]
    # The verb has the longer way to the token: the dead man starts a little later, now and then.
    processes = []
    for command in commands:
        processes.append(
            subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
            )
        )
        if command is commands[0]:
            subprocess.run(["/bin/sleep", f"0.0{number % 8}"], check=True)
    said, _ = processes[0].communicate(timeout=60)
    processes[1].communicate(timeout=60)
    confirmed = b"@mark end 0" in said
    present = manifest.read_bytes() if manifest.exists() else b""
    left = sorted(p.name for p in manifests.iterdir() if p != manifest)
    if left or present != (new if confirmed else old):
        return f"confirm said {said!r}, and there is {present!r} with {left}"
    return "confirmed" if confirmed else "restored"
