"""What does the kubelet do with a manifest? Several tried in one round, on a real one.

Each is dropped into the manifests directory under a pod name that harms
nothing; the verdict comes from the kubelet's own list of pods and its journal.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read

from .api import Api
from .console import wait_for, wait_until
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


class Ended(NamedTuple):
    """How a trial's container ended, and what it said."""

    code: int
    stdout: str
    stderr: str


def dropped_field(manifest: bytes, verdict: Verdict) -> bool:
    """Whether the kubelet lost a field: one that the file sets and its own pod lacks."""
    documents = read(manifest).documents
    wanted = value_of(documents[0]) if documents else None
    if not isinstance(wanted, dict) or verdict.pod is None:
        return False
    return any(_missing(wanted.get(part), verdict.pod.get(part)) for part in ("metadata", "spec"))


def _missing(wanted: Any, got: Any) -> bool:
    if isinstance(wanted, dict):
        return any(
            _missing(value, got.get(key) if isinstance(got, dict) else None)
            for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        have = got if isinstance(got, list) else []
        return any(
            _missing(value, have[at] if at < len(have) else None) for at, value in enumerate(wanted)
        )
    # What is empty or the default need not come back.
    return got is None and wanted not in (None, "", 0, False, [], {})


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
    started = time.monotonic()
    with _dropped(node, api, trials) as cursor:
        while True:
            verdicts = _verdicts(names, node, api, cursor)
            age = time.monotonic() - started
            undecided = [v for v in verdicts if not v.running and not (v.refused and v.journal)]
            if not undecided or (age > settle and all(v.accepted for v in undecided)):
                return verdicts
            if age > _RELIST_SECONDS + settle:
                return verdicts
            time.sleep(0.5)


def run_to_the_end(
    node: Node, api: Api, trials: Sequence[Trial], *, timeout: float = 120
) -> list[tuple[Verdict, Ended]]:
    """For pods that end by themselves: verdict, exit code and output of each one's container."""
    names = [trial.name for trial in trials]
    with _dropped(node, api, trials) as cursor:
        ends = [
            wait_for(f"the end of {name}", partial(_ended, node, name), timeout) for name in names
        ]
        return list(zip(_verdicts(names, node, api, cursor), ends, strict=True))


@contextmanager
def _dropped(node: Node, api: Api, trials: Sequence[Trial]) -> Iterator[str]:
    """The manifests are there while the block runs; gives the journal's cursor before that."""
    names = [trial.name for trial in trials]
    if len(set(names)) != len(names) or any(
        not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name) for name in names
    ):
        raise ValueError("trials need distinct names that may be file and pod names")
    cursor = node.journal_cursor()
    try:
        for trial in trials:
            node.put_manifest(trial.manifest, _path(trial.name))
        yield cursor
    finally:
        remove_trials(node, api, names)


def _ended(node: Node, name: str) -> Ended | None:
    label = shlex.quote(f"io.kubernetes.pod.name={name}-{node.name}")
    listed = json.loads(node.output(f"crictl ps -a --state Exited --label {label} -o json"))
    if not listed["containers"]:
        return None
    container = listed["containers"][0]["id"]
    # The kubelet starts it again and forgets older ones: one that is gone by now has a successor.
    status = json.loads(node.output(f"crictl inspect {container}"))["status"]
    logs = node.run(f"crictl logs {container}")
    return Ended(int(status["exitCode"]), logs.stdout.decode(), logs.stderr.decode())


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
