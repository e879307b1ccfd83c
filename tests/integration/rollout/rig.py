"""Roll-outs over sandbox nodes, as the commands make them: looked at, planned, carried out.

The way to a node is a process of this machine with the node's environment; the tests that need SSH
pass an opener of their own. Node time runs ``speed`` times as fast as the operator's, so deadlines
are set far away and brought near by ``skip_to_deadline``.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from kschedpatch.core.fleet.planning import plan_fleet
from kschedpatch.core.fleet.questions import about_patch
from kschedpatch.core.fleet.rollbacks import Wanted, judge_target, wanted_of
from kschedpatch.inputs.files import NamedText
from kschedpatch.inputs.loading import load_patch
from kschedpatch.inputs.quickflags import QuickFlags
from kschedpatch.model.events import Event, Listener, Phase, State, nobody
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.model.rollout import RollbackTarget, RolloutResult, RolloutSettings
from kschedpatch.node.agent import Agent
from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.errors import Unreachable
from kschedpatch.node.process import ProcessChannel
from kschedpatch.node.script import agent_script
from kschedpatch.node.session import Session
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.rollback import roll_back
from kschedpatch.rollout.rollout import roll_out
from kschedpatch.sandbox.node import SandboxNode
from kschedpatch.sandbox.sandbox import Sandbox

SPEED = 8
FULL = bool(os.environ.get("KSCHEDPATCH_FULL_FAULTS"))
"""``make faults``: all cases of what ``make test`` only samples."""
SETTINGS = RolloutSettings(
    who="ops@desk",
    settle=1,
    watch_timeout=90,
    confirm_timeout=900,
    preflight=False,
    canary=False,
    probe=False,
)
"""Without the proofs that would catch beforehand what a test wants to see fail."""
WITH_CANARY = SETTINGS._replace(canary=True)
Opened = Callable[[NodeAddress], Agent]


def patch(v: int | str = 3, *, scheduler: str = "", rest: str = "") -> bytes:
    """A patch whose manifests differ with ``v``."""
    more = f", {scheduler}" if scheduler else ""
    return f"""apiVersion: kschedpatch.io/v1
kind: SchedulerPatch
metadata: {{name: trial}}
spec:
  scheduler: {{args: {{v: "{v}"}}{more}}}
{rest}""".encode()


CONFIG = "  config: {inline: {profiles: [{schedulerName: default-scheduler}]}}\n"
RBAC = '  rbac: {rules: [{apiGroups: [""], resources: [pods], verbs: [update]}]}\n'


class NodeTransport:
    """Commands in the node's environment; none while it has no power."""

    def __init__(self, node: SandboxNode) -> None:
        self.node = node
        self.label = node.name

    def open(self, command: str) -> ProcessChannel:
        if not self.node.is_on:
            raise Unreachable(f"{self.label}: no route to host")
        words = [f"{key}={value}" for key, value in self.node.environment().items()]
        return ProcessChannel(self.label, ["env", *words, "sh", "-c", command])

    def close(self) -> None:
        """Each command is a process of its own."""


def on_event(phase: Phase, state: State, action: Callable[[], None], node: str = "") -> Listener:
    """A listener that acts at the first such event."""
    done = False

    def listener(event: Event) -> None:
        nonlocal done
        if not done and event.phase is phase and event.state is state:
            if node and event.node != node:
                return
            done = True
            action()

    return listener


class Rig:
    def __init__(self, sandbox: Sandbox, opened: Opened | None = None) -> None:
        self.sandbox = sandbox
        self.nodes = sandbox.nodes
        self.opened = opened or self._opened
        self._count = 10

    @property
    def node(self) -> SandboxNode:
        return self.nodes[0]

    def fresh_v(self) -> int:
        """Of no earlier patch here: what is applied with it is a change."""
        self._count += 1
        return self._count

    def _opened(self, address: NodeAddress) -> Agent:
        node = next(n for n in self.nodes if address.host in (n.name, n.address))
        return Agent(Session(NodeTransport(node), NO_BECOME, agent_script()))

    def fleet(self, listener: Listener = nobody, names: Sequence[str] = ()) -> Fleet:
        chosen = names or [node.name for node in self.nodes]
        addresses = [NodeAddress(name, None, None, name) for name in chosen]
        return Fleet(addresses, self.opened, listener)

    def plan(self, fleet: Fleet, text: bytes) -> FleetPlan:
        given = load_patch(NamedText("patch.yaml", text, Path()), QuickFlags()).given
        assert given is not None
        facts = fleet.look(*about_patch(given))
        return plan_fleet(given, facts, partial=False)

    def apply(
        self,
        text: bytes,
        settings: RolloutSettings = SETTINGS,
        *,
        cancel: Cancel | None = None,
        listener: Listener = nobody,
        edited: Callable[[FleetPlan], FleetPlan] = lambda plan: plan,
    ) -> RolloutResult:
        with self.fleet(listener) as fleet:
            plan = edited(self.plan(fleet, text))
            return roll_out(fleet, plan, settings, cancel or Cancel())

    def rollback(
        self,
        to: str | None = None,
        settings: RolloutSettings = SETTINGS,
        *,
        cancel: Cancel | None = None,
        listener: Listener = nobody,
    ) -> RolloutResult:
        with self.fleet(listener) as fleet:
            targets: list[RollbackTarget] = []
            for facts in fleet.look():
                wanted = wanted_of(facts, to)
                if not isinstance(wanted, Wanted):
                    assert not wanted.findings, wanted.findings
                    continue
                kept = fleet.kept(facts.label, wanted.run)
                fetched = getattr(kept, wanted.side) if wanted.side else None
                target = judge_target(facts, wanted, fetched).target
                targets += [target] if target else []
            return roll_back(fleet, targets, settings, cancel or Cancel())

    # What tests compare

    def manifests(self) -> tuple[bytes | None, ...]:
        return tuple(node.manifest_bytes() for node in self.nodes)

    def rights(self) -> str:
        """The RBAC objects of the cluster, without what the API server counts."""
        with self.sandbox.simulation.lock:
            kinds = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
            found = [item for kind in kinds for item in self.sandbox.api.all(kind)]
        for item in found:
            for key in ("resourceVersion", "uid", "creationTimestamp"):
                item["metadata"].pop(key, None)
        return json.dumps(found, sort_keys=True)


def lives(node: SandboxNode) -> tuple[str, int, int]:
    live = node.live()
    assert live is not None
    return live.uid, live.pid, live.restarts


def beside(node: SandboxNode) -> tuple[str, int, int]:
    """The canary, as ``lives``."""
    live = node.live_canary()
    assert live is not None
    return live.uid, live.pid, live.restarts


def stray_files(node: SandboxNode) -> list[str]:
    """What has no business in the manifests directory, dot files included."""
    own = {"kube-scheduler.yaml", "kube-apiserver.yaml", "kube-controller-manager.yaml"}
    return sorted({p.name for p in node.manifest.parent.iterdir()} - own - {"etcd.yaml"})


def transaction(node: SandboxNode) -> Path:
    return node.path("/var/lib/kschedpatch/txn")


def assert_clean(rig: Rig) -> None:
    """No transaction, no stray file, every scheduler ready."""
    for node in rig.nodes:
        assert stray_files(node) == []
        assert not transaction(node).exists()
        assert node.wait_ready(60), f"{node.name}: no scheduler is ready"
        wants = node.path("/etc/systemd/system/multi-user.target.wants")
        assert not wants.is_dir() or not list(wants.iterdir())
    assert not rig.sandbox.simulation.failures


def skip_to_deadline(node: SandboxNode) -> None:
    """The node's uptime jumps to when the dead man's time comes: nobody has to wait for it."""
    path = transaction(node) / "deadline"
    with node._simulation.lock:
        try:
            deadline = int(path.read_text() or 0)
            up = float(node.path("/proc/uptime").read_text().split()[0])
        except (OSError, ValueError):
            return  # ended meanwhile
        node._booted -= max(0.0, deadline - up)
        node._tick_uptime()


def shell(node: SandboxNode, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, **node.environment()},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def tree_of(root: Path) -> dict[str, tuple[int, int, str]]:
    """Paths, modes, times of change and contents; without the simulated /proc."""
    found: dict[str, tuple[int, int, str]] = {}
    for directory, names, files in os.walk(root):
        if Path(directory) == root:
            names.remove("proc")
        for name in (*names, *files):
            path = Path(directory) / name
            stat = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[str(path.relative_to(root))] = (stat.st_mode, stat.st_mtime_ns, content)
    return found
