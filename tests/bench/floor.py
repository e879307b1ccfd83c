"""The least that the job costs: OpenSSH's client, one process and one shell script a node.

It does the steps of the job and brings the same files to the disk, and has nothing that could take
a failure back: no lock, no dead man, no confirm.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.bench.jobspec import AFTER, BACKUP, BEFORE, FILES, MANIFESTS, STAGED, sha256
from tests.bench.measuring import stopwatch
from tests.bench.sshnodes import SshNodes

#: What a look at a node must tell before anybody decides; no more than that.
FACTS = f"""\
M=$KSCHEDPATCH_ROOT/{MANIFESTS}
hostname
uname -m
kubelet --version
cat "$KSCHEDPATCH_ROOT/etc/machine-id"
stat -c '%a %u:%g %Y' "$M/kube-scheduler.yaml"
df -Pk "$M" "$KSCHEDPATCH_ROOT/var/lib"
cat "$M/kube-scheduler.yaml"
sha256sum "$M/kube-scheduler.yaml"
"""


def _script() -> bytes:
    keep = f"""\
B=$KSCHEDPATCH_ROOT/{BACKUP} D=$KSCHEDPATCH_ROOT/{STAGED} N=$M/.kube-scheduler.new
mkdir -p "${{B%/*}}" "$D"
cp -p "$M/kube-scheduler.yaml" "$B"
echo "{sha256(BEFORE)}  $B" | sha256sum -c
"""
    parts = ["set -e\numask 077\n", FACTS, keep]
    for name, content in FILES.items():
        parts.append(f"cat >\"$D/{name}\" <<'END_OF_FILE'\n{content.decode()}END_OF_FILE\n")
    paths = " ".join(f'"$D/{name}"' for name in FILES)
    parts.append(f"chmod 0644 {paths}\n")
    parts.append(f"cat >\"$N\" <<'END_OF_FILE'\n{AFTER.decode()}END_OF_FILE\n")
    parts.append(f'chmod 0600 "$N"\nsync "$B" {paths} "$D" "$N"\n')
    parts.append('mv -f "$N" "$M/kube-scheduler.yaml"\n')
    hashes = {f"$D/{name}": sha256(content) for name, content in FILES.items()}
    hashes["$M/kube-scheduler.yaml"] = sha256(AFTER)
    parts.append("sha256sum -c <<END_OF_HASHES\n")
    parts += [f"{digest}  {path}\n" for path, digest in hashes.items()]
    parts.append("END_OF_HASHES\n")
    return "".join(parts).encode()


#: OpenSSH's own choice resists quantum computers and takes its time; paramiko has none such.
AS_OURS = ("-o", "KexAlgorithms=curve25519-sha256")


def floor_job(nodes: SshNodes, *options: str) -> float:
    script = nodes.directory / "job.sh"
    script.write_bytes(_script())
    at_once = len(nodes.nodes)
    return run_everywhere(nodes, ["sh", "-s"], script, at_once=at_once, options=options)


def floor_look(nodes: SshNodes, at_once: int, *options: str) -> float:
    command = ["sh", "-c", f"'{_quoted(FACTS)}'"]
    return run_everywhere(nodes, command, None, at_once=at_once, options=options)


def _quoted(script: str) -> str:
    return script.replace("'", "'\\''")


def run_everywhere(
    nodes: SshNodes,
    command: Sequence[str],
    stdin: Path | None,
    *,
    at_once: int,
    options: Sequence[str] = (),
) -> float:
    def one(name: str) -> subprocess.CompletedProcess[bytes]:
        words = ["ssh", "-F", str(nodes.ssh_config), "-T", *options, name, *command]
        with (stdin or Path("/dev/null")).open("rb") as given:
            return subprocess.run(words, stdin=given, capture_output=True, check=False)

    with stopwatch() as watch, ThreadPoolExecutor(at_once) as pool:
        done = list(pool.map(one, nodes.names))
    for ended in done:
        if ended.returncode:
            raise RuntimeError(f"ssh ended with {ended.returncode}: {ended.stderr.decode()}")
    return watch.seconds
