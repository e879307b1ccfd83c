"""`python -m tests.e2e.cluster.pin 1.35 2` writes the pins of a Kubernetes release.

With `scheduler` behind it, those of its kube-scheduler alone.
k8s.io/kubernetes replaces its staging modules by directories of its own
repository; here each is replaced by the release that was published of it.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from .build import KUBERNETES_COMMANDS, SCHEDULER, go_environment
from .console import RigError, run, say
from .versions import MODULES

_STAGING = re.compile(r"^\s*(?:replace )?(k8s\.io/\S+) => \./staging/", re.MULTILINE)
_GO = re.compile(r"^go (\S+)$", re.MULTILINE)
_GODEBUG = re.compile(r"^godebug (?:\([^)]*\)|.*)$", re.MULTILINE)


def pin(minor: str, patch: str, only: str = "") -> Path:
    if only not in ("", "scheduler"):
        raise RigError(f"{only!r} is not `scheduler`")
    prefix, commands = (only, (SCHEDULER,)) if only else ("kubernetes", KUBERNETES_COMMANDS)
    number = minor.split(".")[1]
    release = f"k8s.io/kubernetes@v{minor}.{patch}"
    # The user's proxy settings apply; only the flags are the rig's.
    downloaded = run(["go", "mod", "download", "-json", release], timeout=300, env=go_environment())
    source = Path(json.loads(downloaded.stdout)["GoMod"]).read_text()
    go = _GO.search(source)
    if go is None:
        raise RigError(f"no go directive in the go.mod of {release}")
    # Language version and run-time defaults as the release has them.
    lines = ["module kschedpatch.io/e2e/kubernetes", "", f"go {go[1]}", ""]
    lines += [*(f"{setting}\n" for setting in _GODEBUG.findall(source))]
    lines += [f"require k8s.io/kubernetes v{minor}.{patch}", "", "replace ("]
    lines += [
        f"\t{name} => {name} v0.{number}.{patch}" for name in sorted(set(_STAGING.findall(source)))
    ]
    lines += [")"]
    directory = MODULES / f"{prefix}-{minor}"
    directory.mkdir(exist_ok=True)
    (directory / "go.mod").write_text("\n".join(lines) + "\n")
    (directory / "tools.go").write_text(_tools(commands))
    try:
        run(["go", "mod", "tidy"], timeout=900, env=go_environment(), cwd=directory)
    except RigError:
        shutil.rmtree(directory)
        raise
    return directory


def _tools(commands: Iterable[str]) -> str:
    imports = "".join(f'\t_ "k8s.io/kubernetes/cmd/{name}"\n' for name in commands)
    return f"""\
//go:build tools

// Package tools names the commands that the end-to-end rig builds, so that
// go.mod and go.sum pin all that they need.
package tools

import (
{imports})
"""


if __name__ == "__main__":
    try:
        say(f"pinned in {pin(*sys.argv[1:])}")
    except (RigError, TypeError) as error:
        sys.exit(f"usage: pin MINOR PATCH [scheduler]: {error}")
