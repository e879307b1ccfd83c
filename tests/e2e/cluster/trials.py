"""What does the kubelet do with a manifest? Several tried in one round, on a real one.

Each is dropped into the manifests directory under a pod name that harms
nothing; the verdict comes from the kubelet's own list of pods and its journal.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .api import Api
from .console import wait_until
from .node import MANIFESTS, Node

_RELIST_SECONDS = 20
"""The kubelet reads its directory anew this often; the longest wait for a word of it."""


@dataclass(frozen=True)
class Trial:
    name: str
    """Of the file, and of the pod in the manifest."""
    manifest: bytes


@dataclass(frozen=True)
class Verdict:
    name: str
    pod: dict[str, Any] | None
    """As the kubelet decoded it: a field that is missing here was ignored."""
    running: bool
    journal: list[str] = field(default_factory=list)
    """The kubelet's lines on the file or the pod: refusals and failures to start it."""

    @property
    def accepted(self) -> bool:
        return self.pod is not None

    @property
    def refused(self) -> bool:
        return self.pod is None


def under_name(manifest: bytes, name: str) -> bytes:
    """The same manifest for another pod: only the name in the top-level metadata changes."""
    pattern = rb"^(metadata:\s*\n(?:[ \t]+.*\n|\s*#.*\n)*?[ \t]+name:[ \t]*)\S+"
    changed, count = re.subn(
        pattern, lambda match: match[1] + name.encode(), manifest, count=1, flags=re.MULTILINE
    )
    if count != 1:
        raise ValueError("no block-style metadata.name in this manifest")
    return changed


def try_manifests(
    node: Node, api: Api, trials: Sequence[Trial], *, settle: float = 15
) -> list[Verdict]:
    """Drop all of them at once, wait until each is running or refused, read the verdicts, clean up.

    `settle` is how long an accepted pod may take to run before it counts as
    one that does not.
    """
    names = [trial.name for trial in trials]
    if len(set(names)) != len(names) or any(
        not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name) for name in names
    ):
        raise ValueError("trials need distinct names that may be file and pod names")
    cursor = node.journal_cursor()
    started = time.monotonic()
    try:
        for trial in trials:
            node.put_manifest(trial.manifest, _path(trial.name))
        while True:
            verdicts = _verdicts(names, node, api, cursor)
            age = time.monotonic() - started
            undecided = [v for v in verdicts if not v.running and not (v.refused and v.journal)]
            if not undecided or (age > settle and all(v.accepted for v in undecided)):
                return verdicts
            if age > _RELIST_SECONDS + settle:
                return verdicts
            time.sleep(0.5)
    finally:
        remove_trials(node, api, names)


def remove_trials(node: Node, api: Api, names: Sequence[str]) -> None:
    """Take the files away and wait until the kubelet has let go of their pods."""
    node.run("rm -f -- " + " ".join(shlex.quote(_path(name)) for name in names))
    wanted = set(names)

    def gone() -> bool:
        return not (wanted & _pods(node, api).keys())

    # A pod that does not end on SIGTERM gets its grace period first.
    wait_until(f"the end of the trial pods on {node.name}", gone, 90, interval=0.5)


def _path(name: str) -> str:
    return f"{MANIFESTS}/{name}.yaml"


def _verdicts(names: Sequence[str], node: Node, api: Api, cursor: str) -> list[Verdict]:
    pods = _pods(node, api)
    lines = node.journal("kubelet", cursor)
    running = _running(node)
    return [
        Verdict(
            name,
            pods.get(name),
            name in running,
            # The file's path in refusals, the pod's full name in failures to start.
            [
                line
                for line in lines
                if _path(name) in line
                or f"{name}-{node.name}_" in line
                or f'/{name}-{node.name}"' in line
            ],
        )
        for name in names
    ]


def _pods(node: Node, api: Api) -> dict[str, dict[str, Any]]:
    """The kubelet's own pods from files, by the name in the manifest."""
    listed = api.get(f"/api/v1/nodes/{node.name}/proxy/pods")
    suffix = f"-{node.name}"
    return {
        pod["metadata"]["name"].removesuffix(suffix): pod
        for pod in listed.get("items") or []
        if pod["metadata"].get("annotations", {}).get("kubernetes.io/config.source") == "file"
    }


def _running(node: Node) -> set[str]:
    """Pods all of whose containers run, by the name in the manifest; the runtime is the witness."""
    listed = json.loads(node.output("crictl ps -a -o json"))["containers"]
    states: dict[str, dict[str, str]] = {}
    for container in sorted(listed, key=lambda item: int(item["createdAt"])):
        pod = container["labels"].get("io.kubernetes.pod.name", "")
        states.setdefault(pod, {})[container["metadata"]["name"]] = container["state"]
    suffix = f"-{node.name}"
    return {
        pod.removesuffix(suffix)
        for pod, containers in states.items()
        if all(state == "CONTAINER_RUNNING" for state in containers.values())
    }
