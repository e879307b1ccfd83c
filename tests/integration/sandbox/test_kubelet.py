"""The simulated kubelet against what was measured on real ones (facts §6 and §11)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kschedpatch.sandbox.kubelet import read_pod
from kschedpatch.sandbox.node import SandboxNode
from kschedpatch.sandbox.sandbox import Sandbox
from kschedpatch.sandbox.tree import scheduler_manifest
from tests.integration.sandbox.conftest import marked, move_away, rename_in

FIXTURES = Path(__file__).parents[3] / "fixtures/manifests"
GOOD = scheduler_manifest(34)


def with_flag(flag: str) -> str:
    return GOOD.replace("    - kube-scheduler\n", f"    - kube-scheduler\n    - {flag}\n", 1)


def with_image(image: str) -> str:
    return re.sub(r"image: .*", f"image: {image}", GOOD)


def with_mount(path: str, kind: str) -> str:
    text = GOOD.replace(
        "    volumeMounts:\n", f"    volumeMounts:\n    - {{mountPath: {path}, name: extra}}\n"
    )
    volume = f"  - {{name: extra, hostPath: {{path: {path}, type: {kind}}}}}\n"
    return text.replace("  volumes:\n", f"  volumes:\n{volume}")


def with_config(node: SandboxNode, plugin: str) -> str:
    node.path("/etc/kubernetes/sc.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf}\n"
        f"profiles: [{{plugins: {{score: {{enabled: [{{name: {plugin}}}]}}}}}}]\n"
    )
    text = with_mount("/etc/kubernetes/sc.yaml", "File")
    flag = "--config=/etc/kubernetes/sc.yaml"
    return text.replace("    - kube-scheduler\n", f"    - kube-scheduler\n    - {flag}\n", 1)


class Case(NamedTuple):
    name: str
    manifest: Callable[[SandboxNode], str]
    where: str
    """log, journal or crictl: the only place where the sign is."""
    sign: str
    seconds: tuple[float, float]


LAG = 2.0
"""What a busy machine may add, in the sandbox's seconds: far less than what is told apart here."""
CASES = [
    Case("unknown flag", lambda _: with_flag("--bogus=1"), "log",
         "log: Error: unknown flag: --bogus", (0.3, 1.3)),
    Case("port in use", lambda _: with_flag("--secure-port=6443"), "log",
         "address already in use", (0.3, 1.3)),
    Case("unknown plugin", lambda n: with_config(n, "Absent"), "log",
         r'command failed.*ScorePlugin \\"Absent\\" does not exist', (0.8, 1.8)),
    Case("configuration not mounted", lambda _: with_flag("--config=/nowhere.yaml"), "log",
         "command failed.*open /nowhere.yaml: no such file", (0.8, 1.8)),
    Case("image missing", lambda _: with_image("example.org/none:v1"), "journal",
         "ErrImagePull", (0.2, 1.0)),
    Case("hostPath missing", lambda _: with_mount("/opt/none", "File"), "journal",
         r"MountVolume.SetUp failed.*hostPath type check failed: /opt/none is not a file",
         (0.1, 0.9)),
    Case("admission", lambda _: GOOD.replace("containerPort: 10259", "containerPort: 10257"),
         "journal", "Pod admission denied.*NodePorts", (0.1, 0.8)),
    Case("no log", lambda _: with_image("example.org/no-log-exit:v1"), "crictl",
         "ended: 137 OOMKilled", (0.6, 1.6)),
]  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("shared"), nodes=1) as sandbox:
        sandbox.nodes[0].add_image("example.org/no-log-exit:v1")
        yield sandbox


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_failure_shows_its_sign_in_its_time(case: Case, shared: Sandbox) -> None:
    node = shared.nodes[0]
    text = case.manifest(node)
    move_away(node)
    began = shared.simulation.now()
    rename_in(node, text)

    def sign() -> float | None:
        new = (event for event in list(shared.events) if event.time >= began)
        return next((e.time for e in new if re.search(case.sign, e.text)), None)

    assert node.wait(lambda: sign() is not None, 15), shared.events[-5:]
    low, high = case.seconds
    assert low <= (sign() or 0) - began <= high + LAG
    live, uid = node.live(), read_uid(node)()
    assert not live or not live.ready
    if case.where != "log":
        assert not logs(node, uid).strip()
    if case.where != "journal":
        # A crash is restarted at once the first time: the next log is there soon.
        assert node.wait((log_directory(node, uid) / "1.log").exists, 4)


def read_uid(node: SandboxNode) -> Callable[[], str]:
    def uid() -> str:
        slot = node.kubelet.slots["kube-system/kube-scheduler"]
        return slot.wanted.uid if slot.wanted else "none"

    return uid


def log_directory(node: SandboxNode, uid: str) -> Path:
    name = f"kube-system_kube-scheduler-{node.name}_{uid}"
    return node.path("/var/log/pods") / name / "kube-scheduler"


def logs(node: SandboxNode, uid: str) -> str:
    return "".join(path.read_text() for path in log_directory(node, uid).glob("*.log"))


def test_a_good_scheduler_is_ready_soon_and_says_so(sandbox: Sandbox, node: SandboxNode) -> None:
    before = node.live()
    assert before is not None
    move_away(node)
    assert node.live() is None
    began = sandbox.simulation.now()
    rename_in(node, marked("a"))
    assert node.wait_ready(5)
    # The record's times are those of the simulation; waiting here takes what the machine takes.
    assert 0.7 <= sandbox.record.samples[-1].time - began <= 2.0 + LAG
    after = node.live()
    assert after is not None
    assert after.uid != before.uid
    assert "attempting to acquire leader lease kube-system/kube-scheduler" in logs(node, after.uid)
    info = node.path(f"/proc/{after.pid}/mountinfo").read_text()
    assert f"/pods/{after.uid}/containers/kube-scheduler/" in info
    assert node.path(f"/proc/{after.pid}/cmdline").read_bytes().startswith(b"kube-scheduler\0")


def test_moving_away_costs_three_seconds_and_a_change_in_place_twelve(sandbox: Sandbox) -> None:
    node = sandbox.nodes[0]
    began = sandbox.simulation.now()
    move_away(node)
    rename_in(node, marked("a"))
    node.wait(lambda: node.live() is not None)
    assert node.wait_ready()
    assert 2.5 <= max(sandbox.record.without_scheduler(node.name, began)) <= 4.5 + LAG
    began = sandbox.simulation.now()
    rename_in(node, marked("b"))
    node.wait(lambda: node.live() is None)
    assert node.wait_ready()
    assert 11 <= max(sandbox.record.without_scheduler(node.name, began)) <= 15


def test_an_unparsable_manifest_ends_the_pod_only_at_the_next_list(tmp_path: Path) -> None:
    with Sandbox(tmp_path, nodes=1, speed=20) as sandbox:
        node = sandbox.nodes[0]
        before = node.live()
        assert before is not None
        rename_in(node, "apiVersion: v1\nkind: Pod\n  x: [")
        assert node.wait(lambda: "Unable to process watch event" in node.journal.text(), 3)
        assert "couldn't parse as pod(" in node.journal.text()
        assert node.live() == before
        assert node.wait(lambda: node.live() is None, 25)
        assert "Could not process manifest file" in node.journal.text()
        rename_in(node, GOOD)
        assert node.wait_ready(20)
        again = node.live()
        assert again is not None
        assert again.uid == before.uid


def test_the_same_bytes_again_and_again_back_off_unless_their_records_go(tmp_path: Path) -> None:
    def back(sandbox: Sandbox, *, forget: bool) -> float:
        node = sandbox.nodes[0]
        live = node.live()
        assert live is not None
        move_away(node)
        if forget:
            for container in node.runtime.containers:
                node.runtime.remove(container.id)
        began = sandbox.simulation.now()
        rename_in(node, GOOD)
        assert node.wait_ready(100)
        found = node.live()
        assert found is not None
        assert found.uid == live.uid
        assert found.restarts == live.restarts + 1
        return sandbox.record.samples[-1].time - began

    with Sandbox(tmp_path, nodes=1, speed=10) as sandbox:
        first, second, third = (back(sandbox, forget=False) for _ in range(3))
        assert first < 4 + LAG
        assert 5 < second < 14 + LAG
        assert 14 < third < 25 + LAG
        assert back(sandbox, forget=True) < 5 + LAG


def test_a_crash_after_the_start_is_restarted_and_then_backs_off(tmp_path: Path) -> None:
    with Sandbox(tmp_path, nodes=1, speed=20) as sandbox:
        node = sandbox.nodes[0]
        node.add_image("example.org/crash-after-2:v1")
        move_away(node)
        rename_in(node, with_image("example.org/crash-after-2:v1"))
        uid = read_uid(node)
        assert node.wait_ready(5)
        assert node.wait((log_directory(node, uid()) / "1.log").exists, 5)
        assert "panic: " in (log_directory(node, uid()) / "0.log").read_text()
        assert node.wait(lambda: "CrashLoopBackOff" in node.journal.text(), 8)


def test_another_name_for_the_same_pod_wins_when_it_sorts_last(node: SandboxNode) -> None:
    before = node.live()
    assert before is not None
    (node.manifest.parent / ".hidden.yaml").write_text(marked("hidden"))
    (node.manifest.parent / "kube-scheduler.yaml.bak").write_text(GOOD)
    assert node.wait(lambda: (live := node.live()) is not None and live.uid != before.uid, 30)


def test_a_missing_right_keeps_it_from_being_ready(sandbox: Sandbox, node: SandboxNode) -> None:
    image = "example.org/scheduler:needs-rbac-gpus"
    sandbox.registry.add(image)
    move_away(node)
    rename_in(node, with_image(image))
    assert node.wait(lambda: node.live() is not None, 6)
    sandbox.simulation.sleep(3)
    live = node.live()
    assert live is not None
    assert not live.ready
    assert "attempting to acquire" not in logs(node, live.uid)
    sandbox.api.create({"kind": "ClusterRole", "metadata": {"name": "gpus"}})
    assert node.wait_ready(4)


# Texts that the tool's own reader refuses where Go's parser does not.
READ_BY_GO_ONLY = {"anchor-alias.yaml", "merge-key.yaml", "trailing-tab.yaml"}


def test_the_kubelet_takes_what_a_real_one_takes() -> None:
    verdicts: dict[str, str] = json.loads((FIXTURES / "kubelet-verdicts.json").read_text())
    wrong = {
        name
        for name, said in verdicts.items()
        if (found := read_pod((FIXTURES / "broken" / name).read_bytes(), name, 34))
        and bool(said) != bool(found.problem)
    }
    assert wrong == READ_BY_GO_ONLY


def test_a_restarted_kubelet_leaves_the_pod_alone_and_sees_what_changed(node: SandboxNode) -> None:
    before = node.live()
    node.restart_kubelet()
    node._simulation.sleep(2)
    assert node.live() == before
    node.stop_kubelet()
    rename_in(node, marked("changed"))
    node._simulation.sleep(2)
    assert node.live() == before
    node.start_kubelet()
    assert node.wait(lambda: (live := node.live()) is not None and live != before, 20)
