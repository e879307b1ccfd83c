"""The simulated kubelet of one node: it reads the manifests directory as facts §6 tell.

Changes are seen at once, a full list is made every twenty seconds, and what cannot be read keeps
the pod until that list and not longer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from kschedpatch.core.manifest.document import read_manifest
from kschedpatch.core.manifest.validate import pod_findings
from kschedpatch.core.yamltext.nodes import canonical
from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.codes import CODES
from kschedpatch.model.finding import Finding
from kschedpatch.sandbox.podlife import NodeSide, PodRun, PodSlot, PodSpec
from kschedpatch.sandbox.process import SchedulerProcess
from kschedpatch.sandbox.startup import declared_ports

FILE_CHECK = 20.0
_LOOK = 0.1

# Of the codes whose findings a kubelet may take all the same, those where it mostly does not.
_REFUSED = frozenset({"M004", "M005", "M006"})
_REFUSED_WHEN = {"M010": "goes up", "M012": "claimed twice in this pod"}


class Snapshot(NamedTuple):
    inode: int
    changed: int
    size: int


class ReadPod(NamedTuple):
    pod: dict[str, Any] | None
    problem: str


@lru_cache(maxsize=256)
def read_pod(data: bytes, file: str, minor: int) -> ReadPod:
    """The pod in a manifest, or the kubelet's words why there is none."""
    reading = read_manifest(data, file)
    pod = reading.pod
    if pod is None or pod.get("kind") != "Pod" or pod.get("apiVersion") != "v1":
        why = next((f.message for f in reading.findings if f.is_error), "no kind Pod")
        return ReadPod(None, f"{file}: couldn't parse as pod({why}), please check config file")
    metadata = pod.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(pod.get("spec"), dict):
        text = "Object 'metadata' or 'spec' is missing"
        return ReadPod(None, f"{file}: couldn't parse as pod({text}), please check config file")
    refused = [f for f in pod_findings(pod, minor, Places(file, None)) if _refuses(f, minor)]
    if refused:
        first = refused[0]
        if first.code == "M004":
            text = f"json: cannot unmarshal: {first.path}: {first.message}"
            problem = f"{file}: couldn't parse as pod({text}), please check config file"
        elif first.code == "M013":
            problem = f"static pods may not reference API objects: {first.path}"
        else:
            problem = f"invalid pod: [{first.path}: {first.message}]"
        return ReadPod(None, problem)
    return ReadPod(pod, "")


def _refuses(finding: Finding, minor: int) -> bool:
    if not finding.is_error or finding.code[0] == "Y":
        return False
    if finding.code == "M013":
        return minor >= 34
    if finding.code in _REFUSED_WHEN:
        return _REFUSED_WHEN[finding.code] in finding.message
    if finding.code == "M011":
        # An image's name is the runtime's to refuse; of a volume the unknown sources are dropped.
        return not finding.path.endswith((".image", "]"))
    return finding.code in _REFUSED or not CODES[finding.code].runs


class Kubelet:
    def __init__(self, node: NodeSide, directory: Callable[[], Path], minor: int) -> None:
        self._node = node
        self._directory = directory
        self._minor = minor
        self.slots: dict[str, PodSlot] = {}
        self._store: dict[str, PodSpec] = {}
        self._seen: dict[str, Snapshot] = {}
        self._stops: list[Callable[[], None]] = []
        self.is_running = False

    def start(self) -> None:
        if self.is_running:
            return
        self.is_running = True
        self._node.journal.klog("I", "server.go:212", '"Kubelet version" simulated')
        self._seen = self._snapshot()
        self._relist()
        self._stops = [
            self._node.simulation.every(_LOOK, self._look),
            self._node.simulation.every(FILE_CHECK, self._relist),
        ]

    def stop(self) -> None:
        """Containers go on running; nobody watches files or restarts them."""
        self.is_running = False
        for stop in self._stops:
            stop()
        self._stops = []
        for slot in self.slots.values():
            slot.forget()

    def processes(self) -> list[SchedulerProcess]:
        return [
            slot.run.process
            for slot in self.slots.values()
            if slot.run is not None and slot.run.process is not None and slot.run.process.is_alive
        ]

    def run_of(self, pod: str) -> PodRun | None:
        slot = self.slots.get(f"kube-system/{pod}")
        return slot.run if slot else None

    def declared_ports(self, but: PodSpec) -> frozenset[int]:
        """What the other pods of the node have claimed."""
        others = [s.run.spec for s in self.slots.values() if s.run is not None]
        return frozenset(
            port for spec in others if spec.name != but.name for port in declared_ports(spec.pod)
        )

    def used_ports(self, but: PodSpec) -> frozenset[int]:
        """Where processes of the other pods listen."""
        return frozenset(
            process.address[1]
            for process in self.processes()
            if process.claims_port and process.container.uid != but.uid
        )

    def lose_power(self) -> None:
        self.stop()
        for slot in self.slots.values():
            if slot.run is not None:
                slot.run.lose_power()
        self.slots.clear()

    def _snapshot(self) -> dict[str, Snapshot]:
        found: dict[str, Snapshot] = {}
        try:
            with os.scandir(self._directory()) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    try:
                        stat = entry.stat()
                    except OSError:
                        continue  # renamed away meanwhile
                    found[entry.name] = Snapshot(stat.st_ino, stat.st_mtime_ns, stat.st_size)
        except OSError:
            return {}
        return found

    def _look(self) -> None:
        """What inotify tells: names that came, changed or went since the last look."""
        now = self._snapshot()
        if now == self._seen:
            return
        before, self._seen = self._seen, now
        gone = [name for name in before if name not in now]
        came = [name for name in now if before.get(name) != now[name]]
        delay = self._node.simulation.between(0.1, 0.2)
        self._node.simulation.later(delay, lambda: self._events(gone, came))

    def _events(self, gone: Iterable[str], came: Iterable[str]) -> None:
        if not self.is_running:
            return
        for name in gone:
            file = self._shown(name)
            self._store = {k: s for k, s in self._store.items() if s.file != file}
        for name in came:
            self._read_into(self._store, name, relist=False)
        self._apply()

    def _relist(self) -> None:
        if not self.is_running:
            return
        store: dict[str, PodSpec] = {}
        for name in sorted(self._snapshot()):
            self._read_into(store, name, relist=True)
        self._store = store
        self._apply()

    def _read_into(self, store: dict[str, PodSpec], name: str, *, relist: bool) -> None:
        path, shown = self._directory() / name, self._shown(name)
        try:
            if not path.is_file():
                return
            data = path.read_bytes()
        except OSError:
            return  # gone again: the next event tells
        found = read_pod(data, shown, self._minor)
        if found.pod is None:
            self._node.journal.unparsable(shown, found.problem, relist=relist)
            return
        metadata = found.pod["metadata"]
        pod_name = str(metadata.get("name", ""))
        namespace = str(metadata.get("namespace") or "default")
        uid = metadata.get("uid") or self._uid(found.pod, shown)
        store[f"{namespace}/{pod_name}"] = PodSpec(uid, pod_name, namespace, found.pod, shown)

    def _uid(self, pod: dict[str, Any], shown: str) -> str:
        text = f"{canonical(pod)}\nhost:{self._node.name}\nfile:{shown}"
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()

    def _shown(self, name: str) -> str:
        """The file as a real kubelet would call it, without the sandbox's root."""
        return f"/etc/kubernetes/manifests/{name}"

    def _apply(self) -> None:
        for key in self._store:
            self.slots.setdefault(key, PodSlot(self._node))
        for key, slot in self.slots.items():
            spec = self._store.get(key)
            run = slot.run
            if run is not None and slot.wanted is None and not run.is_ending:
                if spec is not None and spec.uid == run.spec.uid:
                    slot.adopt(spec)
                    continue
                run.end()
            slot.want(spec)
