"""verify on simulated nodes: the checklist, where its evidence comes from, and probe pods."""

from __future__ import annotations

import base64
import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.fleet.verifying.probes import PROBE_LABEL
from kschedpatch.node.script import agent_script
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.sandbox.deviceplugin import DIRECTORY, SOCKET, DevicePlugin
from kschedpatch.sandbox.node import SandboxNode
from kschedpatch.sandbox.tree import ADMIN_KEY
from tests.integration.rollout.desk import BARE, Desk, sat_down
from tests.integration.rollout.rig import Rig, shell, tree_of

IMAGE = "registry.test/stamps-pods:v1.34.11"
PATCH = f"""apiVersion: kschedpatch.io/v1
kind: SchedulerPatch
metadata: {{name: full}}
spec:
  scheduler: {{image: "{IMAGE}", args: {{v: "5"}}}}
  config:
    inline:
      profiles:
      - schedulerName: default-scheduler
        plugins: {{score: {{enabled: [{{name: GPUMPSPlugin, weight: 3}}]}}}}
        pluginConfig: [{{name: VolumeBinding, args: {{bindTimeoutSeconds: 60}}}}]
      - schedulerName: other-scheduler
      extenders:
      - {{urlPrefix: "http://gpu-admission.kube-system:3456/scheduler", filterVerb: filter,
          ignorable: true}}
  mounts:
  - {{name: device-plugin-sock, hostPath: {DIRECTORY}, type: Directory, readOnly: true}}
  rbac: {{rules: [{{apiGroups: [""], resources: [pods], verbs: [update, patch]}}]}}
  verify:
    plugins: [GPUMPSPlugin]
    sockets: [{{path: {SOCKET}, http: /status}}]
    can: [{{verb: list, resource: stickyjobs.example.com}}]
    logs: ["successfully acquired lease.*kube-scheduler"]
    pods:
    - {{manifest: ./probe.yaml, expectNode: cp1, expectAnnotations: [Scheduler-Timestamp]}}
"""
PROBE = """apiVersion: v1
kind: Pod
metadata: {name: timestamped}
spec:
  schedulerName: other-scheduler
  containers: [{name: busybox, image: "busybox:1.36"}]
"""
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "gpu-admission", "namespace": "kube-system"},
    "spec": {"clusterIP": "10.96.7.7"},
}


@pytest.fixture(scope="module")
def patched(three: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """All that the patch expects is there, and the patch is applied."""
    sandbox = three.sandbox
    sandbox.registry.add(IMAGE)
    with sandbox.simulation.lock:
        sandbox.api.apply(SERVICE)
    for node in three.nodes:
        node.reaches("10.96.7.7", 3456)
        node.path(DIRECTORY).mkdir(parents=True)
    with pytest.MonkeyPatch.context() as monkeypatch:
        desk = sat_down(three, tmp_path_factory.mktemp("desk"), monkeypatch)
        (desk.directory / "probe.yaml").write_text(PROBE)
        ran = desk.types("apply", "-f", desk.writes(PATCH.encode()), "--yes", *BARE)
        assert ran.code == 0, ran.err
        yield desk


@pytest.fixture
def applied(patched: Desk) -> Iterator[Desk]:
    """As it was applied, whatever the test before has done."""
    plugins = [DevicePlugin(node.path(SOCKET)) for node in patched.rig.nodes]
    patched.writes(PATCH.encode())
    (patched.directory / "probe.yaml").write_text(PROBE)
    for node in patched.rig.nodes:
        node.reaches("10.96.7.7", 3456)
    yield patched
    for plugin in plugins:
        plugin.leave()
    with patched.rig.sandbox.simulation.lock:
        patched.rig.sandbox._kubectl.denied.clear()


def checks(body: dict[str, Any], node: str | None = None) -> dict[str, tuple[str, str]]:
    return {c["check"]: (c["state"], c["evidence"]) for c in body["checks"] if c["node"] == node}


def codes(body: dict[str, Any]) -> set[str]:
    """Of verify's own findings; what lint says of the patch is beside the point."""
    found = (f["code"] for f in body["findings"] if f["severity"] != "note")
    return {code for code in found if code.startswith("N")}


def probe_pods(desk: Desk) -> list[str]:
    with desk.rig.sandbox.simulation.lock:
        pods = list(desk.rig.sandbox.api.all("Pod"))
    return [p["metadata"]["name"] for p in pods if PROBE_LABEL in _labels(p)]


def _labels(pod: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = pod["metadata"].get("labels") or {}
    return found


def without_run(node: SandboxNode) -> dict[str, Any]:
    """Its files; /run is in memory, and only its content counts."""
    tree = tree_of(node.path("/"))
    return {path: found for path, found in tree.items() if path != "run"}


@pytest.mark.sample
def test_everything_is_as_asked(applied: Desk) -> None:
    before = [without_run(node) for node in applied.rig.nodes]
    file = str(applied.file)
    for body in (applied.data("verify", "-f", file), applied.data("verify")):
        assert (body["exitCode"], codes(body)) == (0, set()), body["findings"]
        for node in applied.rig.nodes:
            seen = checks(body, node.name)
            assert {state for state, _ in seen.values()} == {"ok"}, seen
            live = node.live()
            assert live is not None
            assert f"/proc/{live.pid}/cmdline" in seen["flags"][1]
            assert "all 3" in seen["mounts"][1]
            assert IMAGE in seen["image"][1]
            assert seen["plugin GPUMPSPlugin"][1] == (
                "/configz: score of default-scheduler, weight 3"
            )
            assert (
                "bindTimeoutSeconds 60"
                in seen["arguments of VolumeBinding in default-scheduler"][1]
            )
            assert "other-scheduler" in " ".join(seen)
            assert seen[f"socket {SOCKET}"][1] == 'GET /status: HTTP 200, {"busy": 3}'
            url = "extender http://gpu-admission.kube-system:3456/scheduler"
            assert seen[url][1].startswith("HTTP 404 from 10.96.7.7:3456, the address of Service")
        cluster = checks(body)
        leader = applied.rig.sandbox.leader()
        assert leader is not None
        assert cluster["leader"] == ("ok", leader.name)
        (log,) = [found for name, found in cluster.items() if name.startswith("log line")]
        assert log[0] == "ok"
        assert {name for name in cluster if name.startswith("right")} == {
            "right update pods", "right patch pods", "right list stickyjobs.example.com",
        }  # fmt: skip
    assert [without_run(node) for node in applied.rig.nodes] == before, "verify leaves no trace"


def test_all_rights_are_asked_for_in_one_call(applied: Desk) -> None:
    kubectl = applied.rig.sandbox._kubectl
    with applied.rig.sandbox.simulation.lock:
        kubectl.calls.clear()
        kubectl.denied.add(("patch", "pods"))
    body = applied.data("verify")
    creates = [call for call in kubectl.calls if "create" in call]
    assert (len(creates), body["exitCode"], codes(body)) == (1, 1, {"N136"})
    assert checks(body)["right update pods"][0] == "ok"
    assert checks(body)["right patch pods"][0] == "failed"
    (finding,) = [f for f in body["findings"] if f["code"] == "N136"]
    assert "kubectl auth can-i patch pods --as system:kube-scheduler" in finding["hint"]


def test_the_local_files_need_not_be_there(applied: Desk) -> None:
    (applied.directory / "probe.yaml").unlink()
    applied.file.unlink()
    body = applied.data("verify", "--probe")
    assert body["exitCode"] == 0, body["findings"]
    assert checks(body)["probe pod timestamped"][0] == "ok"


def test_who_is_at_fault_when_a_socket_is_silent(applied: Desk) -> None:
    """Gone with its file, gone without it, another page, no mount, no right: each is told."""
    first, second, third = applied.rig.nodes
    first.path(SOCKET).unlink()
    second.path(SOCKET).unlink()
    DevicePlugin(second.path(SOCKET)).end()
    third.path(SOCKET).unlink()
    other = DevicePlugin(third.path(SOCKET).with_name("x"))
    third.path(SOCKET).symlink_to(third.path(SOCKET).with_name("x"))
    try:
        body = applied.data(
            "verify", "-f", applied.writes(PATCH.replace("/status}", "/no}").encode())
        )
    finally:
        other.leave()
    name = f"socket {SOCKET}"
    told = {node.name: checks(body, node.name)[name] for node in applied.rig.nodes}
    assert told["cp1"][0] == told["cp2"][0] == told["cp3"][0] == "failed"
    assert "is mounted and holds no such socket" in told["cp1"][1]
    assert "nobody listens" in told["cp2"][1]
    assert told["cp3"][1] == "GET /no: HTTP 404, no such page"
    assert codes(body) >= {"N130", "N131", "N133"}


def test_a_running_scheduler_that_is_not_the_manifests(applied: Desk) -> None:
    """The kubelet is stuck: the manifest is as it should be, and the process is not."""
    node = applied.rig.nodes[1]
    live = node.live()
    assert live is not None
    cmdline = node.path(f"/proc/{live.pid}/cmdline")
    mountinfo = node.path(f"/proc/{live.pid}/mountinfo")
    words, mounts = cmdline.read_bytes(), mountinfo.read_text()
    cmdline.write_bytes(words.replace(b"--v=5", b"--v=2"))
    mountinfo.write_text("".join(m for m in mounts.splitlines(True) if DIRECTORY not in m))
    try:
        body = applied.data("verify")
    finally:
        cmdline.write_bytes(words)
        mountinfo.write_text(mounts)
    assert (body["exitCode"], codes(body)) == (1, {"N120", "N121"})
    seen = checks(body, node.name)
    assert seen["flags"] == ("failed", "runs with --v=2, the manifest says 5")
    assert seen["mounts"] == ("failed", f"{DIRECTORY} is not mounted")


def test_an_extender_that_is_down_is_a_warning_where_it_may_be(applied: Desk) -> None:
    node = applied.rig.nodes[0]
    node.reaches("10.96.7.7", 3456, on=False)
    body = applied.data("verify")
    assert (body["exitCode"], codes(body)) == (0, {"N138"})
    (state, evidence) = checks(body, node.name)[
        "extender http://gpu-admission.kube-system:3456/scheduler"
    ]
    assert state == "warning"
    assert "not reached at 10.96.7.7:3456" in evidence


def test_probe_pods_are_bound_looked_at_and_gone(applied: Desk) -> None:
    ran = applied.types("verify", "--probe")
    assert ran.code == 0, ran.out
    assert "ok           probe pod timestamped: bound to cp1 by other-scheduler on" in ran.out
    assert "ok           node of timestamped: cp1, as expected" in ran.out
    assert "ok           annotation Scheduler-Timestamp of timestamped:" in ran.out
    assert "probing: 1 of 1 pods done" in ran.err
    assert probe_pods(applied) == []


def test_a_probe_that_is_not_as_expected(applied: Desk) -> None:
    changed = PATCH.replace("expectNode: cp1", "expectNode: cp3").replace("-Timestamp]", "-Other]")
    body = applied.data("verify", "--probe", "-f", applied.writes(changed.encode()))
    assert (body["exitCode"], codes(body)) == (1, {"N143", "N144"})
    assert checks(body)["node of timestamped"] == ("failed", "cp1, expected cp3")
    assert probe_pods(applied) == []


def test_scores_that_nobody_asks_for_are_a_warning_with_the_way_out(applied: Desk) -> None:
    taint = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    api = applied.rig.sandbox.api
    probe = PROBE.replace("other-scheduler", "default-scheduler")
    (applied.directory / "probe.yaml").write_text(probe)
    with applied.rig.sandbox.simulation.lock:
        for name in ("cp2", "cp3"):
            api.patch("Node", name, "", {"spec": {"taints": [taint]}})
    try:
        body = applied.data("verify", "--probe", "-f", str(applied.file))
    finally:
        with applied.rig.sandbox.simulation.lock:
            for name in ("cp2", "cp3"):
                api.patch("Node", name, "", {"spec": {"taints": []}})
    assert (body["exitCode"], codes(body)) == (0, {"N145"})
    (finding,) = [f for f in body["findings"] if f["code"] == "N145"]
    assert "only cp1 is feasible" in finding["message"]
    assert (
        "taint node-role.kubernetes.io/control-plane:NoSchedule keeps cp2, cp3 away"
        in (finding["message"])
    )
    assert finding["hint"].startswith(
        "kubectl taint nodes cp2 cp3 node-role.kubernetes.io/control-plane:NoSchedule-"
    )
    assert checks(body)["annotation Scheduler-Timestamp of timestamped"][0] == "warning"


def test_a_pod_that_nobody_schedules_is_told_and_deleted(applied: Desk) -> None:
    (applied.directory / "probe.yaml").write_text(PROBE.replace("other-sch", "nobodys-sch"))
    file = str(applied.file)
    body = applied.data("verify", "--probe", "--probe-timeout", "1", "-f", file)
    assert (body["exitCode"], codes(body)) == (1, {"N141", "N142"})
    assert probe_pods(applied) == []


def test_what_a_cut_off_verify_left_goes_with_the_next(applied: Desk) -> None:
    left = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "kschedpatch-old-1",
            "namespace": "default",
            "labels": {"app.kubernetes.io/managed-by": "kschedpatch", PROBE_LABEL: "0"},
        },
        "spec": {"containers": []},
    }
    api = applied.rig.sandbox.api
    with applied.rig.sandbox.simulation.lock:
        api.create(left)
        (kept,) = [pod for pod in api._objects.values() if _labels(pod).get(PROBE_LABEL) == "0"]
        kept["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    body = applied.data("verify", "--probe")
    assert "N149" in {finding["code"] for finding in body["findings"]}
    assert probe_pods(applied) == []


def test_ctrl_c_deletes_the_pods_first(applied: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (applied.directory / "probe.yaml").write_text(PROBE.replace("other-sch", "nobodys-sch"))
    seen: list[str] = []

    def interrupt(cancel: Cancel) -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end and not probe_pods(applied):
            time.sleep(0.02)
        seen.extend(probe_pods(applied))
        cancel.ask()

    @contextmanager
    def by_signals(cancel: Cancel) -> Iterator[None]:
        """As a signal does it; only a main thread can be sent a real one."""
        thread = threading.Thread(target=interrupt, args=(cancel,))
        thread.start()
        yield
        thread.join()

    monkeypatch.setattr(Cancel, "by_signals", by_signals)
    ran = applied.types("verify", "--probe", "-f", str(applied.file))
    assert (ran.code, len(seen)) == (130, 1)
    assert probe_pods(applied) == []


def test_the_administrators_key_shows_nowhere(applied: Desk) -> None:
    node = applied.rig.nodes[0]
    spied = node.path("/bin/curl")
    former = spied.read_text()
    log = applied.directory / "curl.log"
    spied.write_text(former.replace("#!/bin/sh\n", f'#!/bin/sh\necho "$@" >>{log}\n', 1))
    try:
        ran = applied.types("verify", "-o", "json", "-v")
    finally:
        spied.write_text(former)
    assert "plugin GPUMPSPlugin" in checks(json.loads(ran.out), node.name)
    encoded = base64.b64encode(ADMIN_KEY.encode()).decode()
    for text in (ran.out, ran.err, log.read_text()):
        assert ADMIN_KEY not in text
        assert encoded[:20] not in text
    assert "--key" in log.read_text(), "it was asked with a client certificate"
    run = node.path("/run")
    assert [p.name for p in run.iterdir() if "inspect" in p.name] == []


def test_without_an_administrators_certificate_the_log_is_asked(applied: Desk) -> None:
    node = applied.rig.nodes[0]
    kept = {}
    for name in ("admin.conf", "super-admin.conf"):
        path = node.path(f"/etc/kubernetes/{name}")
        kept[path] = path.read_bytes()
        path.write_bytes(b"")
    try:
        body = applied.data("verify")
    finally:
        for path, content in kept.items():
            path.write_bytes(content)
    state, evidence = checks(body, node.name)["plugin GPUMPSPlugin"]
    assert state == "not checked"
    assert "admin.conf holds no client certificate" in evidence
    assert body["exitCode"] == 0


def test_lines_fit_eighty_columns_without_colour(applied: Desk) -> None:
    ran = applied.types("verify", "--probe")
    assert "\x1b" not in ran.out
    long = [line for line in ran.out.splitlines() if len(line) > 80]
    assert long == []
    assert "\ncluster\n" in ran.out


@pytest.mark.parametrize("words", ["dash", "busybox sh"])
def test_inspect_runs_under_both_shells(one: Rig, words: str, tmp_path: Path) -> None:
    if shutil.which(words.split(maxsplit=1)[0]) is None:
        pytest.skip(f"no {words} here")
    script = tmp_path / "agent.sh"
    script.write_text(agent_script())
    arguments = (
        "host=127.0.0.1 port=10259 image=x mount=/etc/kubernetes/scheduler.conf:"
        "/etc/kubernetes/scheduler.conf 'socket=/status /no.sock' 'reach=- http://127.0.0.1:1/'"
    )
    ran = shell(one.node, f"{words} {script} mark inspect {arguments} </dev/null")
    live = one.node.live()
    assert live is not None
    for line in (
        f"@mark fact pid {live.pid}",
        "@mark fact same same /etc/kubernetes/scheduler.conf",
        "@mark fact socket 0 missing",
        "@mark fact extender 0 7 000",
        "@mark end 0",
    ):
        assert line in ran.stdout, ran.stdout + ran.stderr
    assert "@mark blob configz" in ran.stdout
