"""The ways to change the schedulers of a cluster, and the way back from each."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from kschedpatch.model import exitcodes
from tests.e2e.cluster.cluster import Cluster
from tests.e2e.cluster.console import RigError, say, wait_until
from tests.e2e.cluster.node import SCHEDULER_MANIFEST, Node
from tests.e2e.tool import Said, access, kschedpatch, patch_file, traces
from tests.forced.manifests import flag

from .table import EXIT_CODES, Way

BAD_FLAG = 'scheduler: {args: {bogus: "1"}}'
_NOTICED_SECONDS = 10.0
_QUIET_SECONDS = 12.0
"""What the kubelet remembers of the last change is not to count."""


@dataclass(frozen=True)
class Ended:
    exit_code: int | None = None
    problems: tuple[str, ...] = ()


@dataclass
class Bench:
    """A cluster with kubeadm's own manifests, to change and to put back."""

    cluster: Cluster
    originals: dict[str, bytes]
    directory: Path
    """For patch files."""
    _tool_was_at_work: bool = False

    @classmethod
    def of(cls, cluster: Cluster, directory: Path) -> Bench:
        cluster.wait_schedulers()
        for node in cluster.nodes:
            if left := traces(node):
                raise RigError(f"{node.name} is not as kubeadm left it: {', '.join(left)}")
        originals = {node.name: node.read(SCHEDULER_MANIFEST) for node in cluster.nodes}
        if patched := [name for name, text in originals.items() if b"kschedpatch" in text]:
            raise RigError(f"patched already: {', '.join(patched)}; first: kschedpatch rollback")
        return cls(cluster, originals, directory)

    def change(self, way: Way, verbosity: int) -> Ended:
        """Harmless but real: another `--v` each time, or the kubelet would know the pod again."""
        match way:
            case Way.HAND:
                return self._by_hand(f"--v={verbosity}")
            case Way.NO_CANARY:
                return self._apply(way, _verbose(verbosity), "--no-canary")
            case Way.CANARY:
                return self._apply(way, _verbose(verbosity))
            case Way.BAD:
                return self._apply(way, BAD_FLAG, "--no-preflight")
            case Way.BAD_BY_HAND:
                return self._bad_by_hand()

    def restore(self) -> tuple[str, ...]:
        """kubeadm's own manifests again, by the tool where it was at work; gives what failed."""
        problems: tuple[str, ...] = ()
        if self._tool_was_at_work and any(self._is_changed(node) for node in self._nodes):
            problems = _unlike(self._tool("rollback", "--settle", "1"), exitcodes.OK)
        self._tool_was_at_work = False
        for node in self._nodes:
            if self._is_changed(node):
                _put_by_hand(node, self.originals[node.name])
        return problems

    def _is_changed(self, node: Node) -> bool:
        return node.read(SCHEDULER_MANIFEST) != self.originals[node.name]

    def settle(self) -> None:
        """Quiet before a measurement: nothing of the last change may count."""
        time.sleep(3)
        self.cluster.wait_schedulers(180)
        time.sleep(_QUIET_SECONDS)
        self.cluster.wait_schedulers(180)
        for node in self._nodes:
            _forget_exited(node)
            if self._is_changed(node):
                raise RigError(f"{node.name} has not its own manifest again")
            if left := traces(node):
                raise RigError(f"left on {node.name}: {', '.join(left)}")

    @property
    def _nodes(self) -> tuple[Node, ...]:
        return self.cluster.nodes

    def _by_hand(self, text: str) -> Ended:
        """As a careful person does: the leader last, and each ready before the next."""
        leader = self.cluster.lease_holder()
        for node in sorted(self._nodes, key=lambda node: node.name == leader):
            before = {container["id"] for container in node.containers("kube-scheduler")}
            node.put_manifest(flag(text)(self.originals[node.name].decode()).encode())
            _wait_successor(node, before)
            say(f"{node.name}: changed by hand")
        return Ended()

    def _bad_by_hand(self) -> Ended:
        """On the node that matters, and put back with more knowledge than most have: without the
        exited containers' records the kubelet does not back off."""
        node = self.cluster.node(self.cluster.lease_holder())
        before = {container["id"] for container in node.containers("kube-scheduler")}
        node.put_manifest(flag("--bogus=1")(self.originals[node.name].decode()).encode())
        time.sleep(_NOTICED_SECONDS)
        _put_by_hand(node, self.originals[node.name])
        _wait_successor(node, before)
        return Ended()

    def _apply(self, way: Way, spec: str, *flags: str) -> Ended:
        patch = patch_file(self.directory, spec, "outage")
        self._tool_was_at_work = True
        said = self._tool("apply", "-f", patch, *flags)
        return Ended(said.code, _unlike(said, EXIT_CODES[way]))

    def _tool(self, command: str, *words: str) -> Said:
        names = [node.name for node in self._nodes]
        try:
            return kschedpatch(
                self.cluster, command, *words, *names, *access(self.cluster), "--yes"
            )
        except subprocess.TimeoutExpired as expired:
            raise RigError(f"kschedpatch {command} did not end: {expired}") from expired


def _verbose(verbosity: int) -> str:
    return f'scheduler: {{args: {{v: "{verbosity}"}}}}'


def _unlike(said: Said, expected: int) -> tuple[str, ...]:
    """The tool's own last words, when it ended in another way than it should."""
    if said.code == expected:
        return ()
    last = (said.err + said.out).strip().splitlines()[-6:]
    return tuple(f"kschedpatch: {line}" for line in last)


def _put_by_hand(node: Node, manifest: bytes) -> None:
    _forget_exited(node)
    node.put_manifest(manifest)


def _forget_exited(node: Node) -> None:
    """The runtime's record of the old one: by it the kubelet backs off, in the end for minutes."""
    exited = "$(crictl ps -aq --state Exited --name kube-scheduler)"
    node.run(f"crictl rm {exited}", check=False)


def _wait_successor(node: Node, before: set[str]) -> None:
    def is_there() -> bool:
        now = {container["id"] for container in node.containers("kube-scheduler")}
        return len(now) == 1 and not now & before and node.scheduler_ready()

    wait_until(f"the new scheduler of {node.name}", is_there, 180, 0.3)
