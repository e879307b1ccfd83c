"""A sandbox that stays up while a test works with it, as a user without a terminal does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Bench:
    """A directory to work in, and the way to the nodes of a sandbox."""

    def __init__(self, directory: Path, sandbox: Path, environment: dict[str, str]) -> None:
        self.directory = directory
        self.sandbox = sandbox
        self.environment = environment

    def types(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-ec", command],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    def manifest(self, node: str) -> Path:
        root = self.sandbox / "nodes" / node / "root"
        return root / "etc/kubernetes/manifests/kube-scheduler.yaml"


@contextmanager
def standing_sandbox(directory: Path, nodes: int, *programs: Path) -> Iterator[Bench]:
    """``programs``: directories that come first in the PATH."""
    work = directory / "work"
    work.mkdir()
    path = [*map(str, programs), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {
        "HOME": str(directory),
        "PATH": ":".join(path),
        "COLUMNS": "80",
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    bench = Bench(work, directory, environment)
    made = bench.types(f"kschedpatch sandbox up --nodes {nodes} -o json")
    assert made.returncode == 0, made.stderr
    bench.sandbox = Path(json.loads(made.stdout)["directory"])
    try:
        yield bench
    finally:
        bench.types("kschedpatch sandbox down")
