"""The job that all contestants do on every node, as values.

Facts, a backup of the manifest, four files staged, everything on the disk, the manifest replaced in
one step, and all of it read back. ``ourjob``, whose start-up is measured, imports this.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from kschedpatch.core.generation import make_generation
from kschedpatch.model.plan import StagedFile
from kschedpatch.model.sources import source_file

ROOT = Path(__file__).parents[2]
MANIFESTS = "etc/kubernetes/manifests"
#: Where the contestants without generations put the files, and the former manifest.
STAGED, BACKUP = "etc/kubernetes/scheduler", "var/backups/kube-scheduler.yaml"


def _text(name: str, size: int) -> bytes:
    """The same in every run; no two lines alike."""
    lines = (
        hashlib.sha256(f"{name} {number}".encode()).hexdigest() + "\n"
        for number in range(size // 65)
    )
    return "".join(lines).encode()


FILES = {
    "config.yaml": _text("config", 2048),
    "plugins.yaml": _text("plugins", 8192),
    "policy.json": _text("policy", 4096),
    "scheduler.conf": _text("kubeconfig", 6144),
}
GENERATION = make_generation(
    StagedFile(name, 0o644, source_file(name, name, content)) for name, content in FILES.items()
)
assert GENERATION is not None

BEFORE = (ROOT / "fixtures/manifests/kubeadm/v1.34.yaml").read_bytes()
#: With the annotation by which a look at the node knows whose files to hash.
AFTER = BEFORE.replace(
    b"metadata:\n",
    f"metadata:\n  annotations:\n    kschedpatch.io/generation: {GENERATION.id!r}\n".encode(),
    1,
).replace(b"    - --leader-elect=true\n", b"    - --leader-elect=true\n    - --v=3\n")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_files(directory: Path) -> None:
    """For contestants that copy from files of the operator's machine."""
    directory.mkdir(exist_ok=True)
    for name, content in {**FILES, "kube-scheduler.yaml": AFTER}.items():
        (directory / name).write_bytes(content)
