"""``kschedpatch apply`` as somebody types it, on nodes without a kubelet: the whole program, from
its command line to the result that it prints.

All that differs from the program is what ``ourjob`` leaves out too: the pause of `switch` and the
watch, since there is no scheduler that could become ready.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kschedpatch.cli import entry
from tests.bench.jobspec import FILES, write_files

_WHERE = "/etc/kubernetes/scheduler"


def write_patch(directory: Path) -> Path:
    """The job as a patch: the same four files, and the same flag."""
    write_files(directory)
    files = "".join(
        f'  - {{source: ./{name}, mountPath: {_WHERE}/{name}, mode: "0644"}}\n' for name in FILES
    )
    patch = directory / "patch.yaml"
    patch.write_text(
        "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: bench}\n"
        f'spec:\n  scheduler: {{args: {{v: "3"}}}}\n  files:\n{files}'
    )
    return patch


def apply_words(patch: Path, ssh_config: Path, names: Sequence[str]) -> list[str]:
    how = ("--yes", "--no-preflight", "--no-canary", "--no-probe", "--ssh-config", str(ssh_config))
    return ["apply", "-f", str(patch), *how, *names]


if __name__ == "__main__":
    from tests.bench.ourjob import leave_out_the_kubelet_s_part

    leave_out_the_kubelet_s_part()
    sys.argv[0] = "kschedpatch"
    entry.main()
