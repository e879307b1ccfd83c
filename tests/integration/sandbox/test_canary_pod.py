"""A second scheduler beside the live one: its own names, its lease, its end, what /proc shows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kschedpatch.sandbox.imagehabits import CANARY_POD, MAIN_POD
from kschedpatch.sandbox.node import Live, SandboxNode
from kschedpatch.sandbox.sandbox import Sandbox
from kschedpatch.sandbox.tree import scheduler_manifest
from tests.integration.sandbox.conftest import Shell, marked, rename_in, shell_of

FLAGS = (
    "--secure-port=10269",
    "--leader-elect-resource-name=kube-scheduler",
    "--leader-elect-resource-namespace=kube-system",
    "--leader-elect-resource-lock=leases",
    "--leader-elect-lease-duration=15000ms",
    "--leader-elect-renew-deadline=10000ms",
    "--leader-elect-retry-period=200ms",
)
LEASE = "kubectl -n kube-system get lease kube-scheduler -o"


def with_flags(text: str, *flags: str) -> str:
    lines = "".join(f"    - {flag}\n" for flag in flags)
    return text.replace("    - kube-scheduler\n", f"    - kube-scheduler\n{lines}", 1)


def with_image(text: str, image: str) -> str:
    return re.sub(r"image: .*", f"image: {image}", text)


def canary_manifest(*flags: str) -> str:
    text = with_flags(scheduler_manifest(34), *FLAGS, *flags)
    text = re.sub(r"    ports:\n(    [- ] .*\n)+?(?=    \w)", "", text)
    text = re.sub(r"    resources:\n(      .*\n)+", "", text)
    text = text.replace("port: probe-port", "port: 10269")
    return text.replace("name: kube-scheduler\n", f"name: {CANARY_POD}\n")


def canary_file(node: SandboxNode) -> Path:
    return node.manifest.parent / "kschedpatch-canary.yaml"


def put_canary(node: SandboxNode, text: str | None = None) -> None:
    fresh = node.manifest.parent / ".canary"
    fresh.write_text(text or canary_manifest())
    fresh.rename(canary_file(node))


def wait_canary(node: SandboxNode, seconds: float = 10) -> Live:
    assert node.wait(lambda: bool((live := node.live_canary()) and live.ready), seconds)
    found = node.live_canary()
    assert found is not None
    return found


def leading(sandbox: Sandbox) -> str:
    """The name of the pod that holds the lease."""
    with sandbox.simulation.lock:
        leader = sandbox.election.leader()
    return leader.pod if leader else ""


def live(node: SandboxNode) -> Live:
    found = node.live()
    assert found is not None
    return found


def log_directory(node: SandboxNode, uid: str) -> Path:
    pod = f"kube-system_{CANARY_POD}-{node.name}_{uid}"
    return node.path("/var/log/pods") / pod / CANARY_POD


def listening(node: SandboxNode) -> list[int]:
    _, *lines = node.path("/proc/net/tcp").read_text().splitlines()
    found = [line.split() for line in lines]
    return [int(words[1].split(":")[1], 16) for words in found if words[3] == "0A"]


def test_a_canary_stands_by_beside_the_live_one_under_its_own_names(
    sandbox: Sandbox, node: SandboxNode, shell: Shell
) -> None:
    before, mirror = node.live(), sandbox.api.get("Pod", "kube-scheduler-cp1", "kube-system")
    put_canary(node)
    canary = wait_canary(node)
    assert node.live() == before
    assert leading(sandbox) == MAIN_POD
    log = (log_directory(node, canary.uid) / "0.log").read_text()
    assert "attempting to acquire leader lease kube-system/kube-scheduler" in log
    assert "successfully acquired" not in log
    info = node.path(f"/proc/{canary.pid}/mountinfo").read_text()
    assert f"/pods/{canary.uid}/containers/{CANARY_POD}/" in info
    container = shell(f"crictl ps -q --name '^{CANARY_POD}$'").stdout
    assert container
    assert shell(f"crictl ps -q --label io.kubernetes.pod.uid={canary.uid}").stdout == container
    assert container not in shell("crictl ps -q --name '^kube-scheduler$'").stdout
    assert shell("curl -sk https://127.0.0.1:10269/readyz").stdout == "ok"
    after = sandbox.api.get("Pod", "kube-scheduler-cp1", "kube-system")
    assert after["metadata"]["annotations"] == mirror["metadata"]["annotations"]
    canary_file(node).unlink()
    assert node.wait(lambda: node.live_canary() is None, 5)
    assert node.live() == before
    assert sandbox.api.find("Pod", "kube-scheduler-cp1", "kube-system") is not None


def test_the_journal_calls_the_canarys_container_by_its_name(node: SandboxNode) -> None:
    put_canary(node, with_image(canary_manifest(), "example.org/none:v1"))
    words = f'failed to \\"StartContainer\\" for \\"{CANARY_POD}\\" with ErrImagePull'
    assert node.wait(lambda: words in node.journal.text(), 5)
    put_canary(node, canary_manifest("--bogus=1"))
    words = f"restarting failed container={CANARY_POD} pod={CANARY_POD}-cp1_kube-system"
    assert node.wait(lambda: words in node.journal.text(), 30)
    assert live(node).ready


def test_the_canary_leads_while_the_main_one_is_changed(
    sandbox: Sandbox, node: SandboxNode, shell: Shell
) -> None:
    put_canary(node)
    wait_canary(node)
    began = sandbox.simulation.now()
    rename_in(node, marked("new"))
    assert node.wait(lambda: leading(sandbox) == CANARY_POD, 5)
    assert sandbox.leader() is node
    versions = {shell(f"{LEASE} 'jsonpath={{.metadata.resourceVersion}}'").stdout}
    sandbox.simulation.sleep(3)
    versions.add(shell(f"{LEASE} 'jsonpath={{.metadata.resourceVersion}}'").stdout)
    assert len(versions) == 2
    first, last = sorted(int(version) for version in versions)
    assert last - first > 8
    assert node.wait_ready(20)
    assert leading(sandbox) == CANARY_POD
    # A canary that leads is no outage, though the node's own scheduler was away for long.
    assert max(sandbox.record.without_leader(began)) < 1.5
    assert max(sandbox.record.without_scheduler(node.name, began)) > 10
    canary_file(node).unlink()
    assert node.wait(lambda: leading(sandbox) == MAIN_POD, 8)
    assert max(sandbox.record.without_leader(began)) < 6


def test_sigterm_ends_a_scheduler_in_order_and_the_kubelet_restarts_it(
    sandbox: Sandbox, node: SandboxNode, shell: Shell
) -> None:
    put_canary(node)
    canary = wait_canary(node)
    main = live(node)
    killed = shell(f"env kill -TERM {main.pid}")
    assert (killed.returncode, killed.stdout, killed.stderr) == (0, "", "")
    assert node.wait(lambda: leading(sandbox) == CANARY_POD, 3)
    assert node.wait(lambda: (now := node.live()) is not None and now.ready, 4)
    again = live(node)
    assert (again.uid, again.restarts) == (main.uid, 1)
    assert not node.path(f"/proc/{main.pid}").exists()
    exited = f"crictl ps -a -q --state Exited --label io.kubernetes.pod.uid={main.uid}"
    template = "'{{.status.exitCode}} {{.status.reason}}'"
    shown = shell(f"crictl inspect -o go-template --template {template} $({exited})").stdout
    assert shown == "0 Completed\n"
    # A first restart knows no back-off, and the pod is the same.
    assert shell(f"env kill {canary.pid}").returncode == 0
    assert node.wait(lambda: (now := node.live_canary()) is not None and now.pid != canary.pid, 3)
    restarted = wait_canary(node)
    assert (restarted.uid, restarted.restarts) == (canary.uid, 1)
    assert (log_directory(node, canary.uid) / "1.log").exists()


def test_who_signals_again_and_again_does_not_put_the_end_off(node: SandboxNode) -> None:
    run, before = node.kubelet.run_of(MAIN_POD), live(node)
    assert run is not None
    assert run.process is not None
    stop = node._simulation.every(0.05, run.process.terminate)
    assert node.wait(lambda: (now := node.live()) is not None and now.pid != before.pid, 5)
    stop()


def test_a_canary_that_lets_go_when_the_main_one_listens_hands_over_at_once(
    tmp_path: Path,
) -> None:
    """Slowly: the moment for it is some tenths of a second, and a busy machine has its delays."""
    with Sandbox(tmp_path, nodes=1, speed=2) as sandbox:
        node = sandbox.nodes[0]
        put_canary(node)
        canary = wait_canary(node)
        began = sandbox.simulation.now()
        shell_of(node)(f"env kill -TERM {live(node).pid}")
        assert node.wait(lambda: leading(sandbox) == CANARY_POD, 3)
        run = node.kubelet.run_of(CANARY_POD)
        assert run is not None

        def hand_over() -> None:
            # Between the opening of its port and its first attempt there are its caches to fill.
            if 10259 in listening(node) and run.process is not None:
                run.process.terminate()
                stop()

        stop = sandbox.simulation.every(0.02, hand_over)
        assert node.wait(lambda: leading(sandbox) == MAIN_POD, 10)
        assert max(sandbox.record.without_leader(began)) < 1.5
        again = wait_canary(node)
        assert (again.uid, again.restarts) == (canary.uid, 1)
        assert leading(sandbox) == MAIN_POD


def test_kill_knows_only_the_nodes_own_processes(node: SandboxNode, shell: Shell) -> None:
    gone = shell("env kill -TERM 1; env kill -s TERM 4999999; echo $?")
    assert gone.stdout == "1\n"
    assert gone.stderr == "kill: 1: No such process\nkill: 4999999: No such process\n"
    before = live(node)
    assert shell(f"env kill -0 {before.pid}").returncode == 0
    assert node.live() == before
    assert shell(f"env kill -KILL {before.pid}").returncode == 0
    assert not node.path(f"/proc/{before.pid}").exists()
    stop = node.kubeadm_at_work()
    kubeadm = next(p for p in node.path("/proc").glob("[0-9]*") if p.name != str(before.pid))
    assert shell(f"env kill {kubeadm.name}").returncode == 0
    assert not kubeadm.exists()
    stop()


def test_a_stopped_scheduler_does_nothing_until_it_goes_on(
    sandbox: Sandbox, node: SandboxNode, shell: Shell
) -> None:
    """Its port stays open; it asks for no lease, and takes a signal only when it goes on."""
    put_canary(node)
    canary, main = wait_canary(node), live(node)
    assert shell(f"env kill -STOP {canary.pid}").returncode == 0
    assert shell(f"env kill -KILL {main.pid}").returncode == 0
    sandbox.simulation.sleep(18)
    assert leading(sandbox) != CANARY_POD, "the lease has expired, and it did not take it"
    stopped = node.live_canary()
    assert stopped is not None
    assert (stopped.pid, stopped.ready, 10269 in listening(node)) == (canary.pid, False, True)
    assert shell(f"env kill -TERM {canary.pid}; env kill -CONT {canary.pid}").returncode == 0
    assert node.wait(lambda: not node.path(f"/proc/{canary.pid}").exists(), 5)
    assert wait_canary(node).restarts == 1


def test_a_stopped_scheduler_that_is_to_end_is_killed_after_its_grace(
    node: SandboxNode, shell: Shell
) -> None:
    put_canary(node)
    canary = wait_canary(node)
    assert shell(f"env kill -STOP {canary.pid}; env kill -TERM {canary.pid}").returncode == 0
    assert not node.wait(lambda: not node.path(f"/proc/{canary.pid}").exists(), 20)
    assert node.wait(lambda: not node.path(f"/proc/{canary.pid}").exists(), 20)


def test_the_kernels_table_of_listeners_shows_who_serves(sandbox: Sandbox) -> None:
    node = sandbox.nodes[0]
    header, first, *_ = node.path("/proc/net/tcp").read_text().splitlines()
    assert header.startswith("  sl  local_address rem_address   st tx_queue")
    assert re.match(r"   0: [0-9A-F]{8}:[0-9A-F]{4} 00000000:0000 0A 0", first)
    assert ": 0100007F:2813 00000000:0000 0A " in node.path("/proc/net/tcp").read_text()
    assert node.path("/proc/net/tcp6").read_text() == f"{header}\n"
    assert sorted(listening(node)) == [6443, 10257, 10259]
    # It listens before it is ready, and also when it never is.
    image = "example.org/never-ready:v1"
    node.add_image(image)
    put_canary(node, with_image(canary_manifest(), image))
    assert node.wait(lambda: 10269 in listening(node), 5)
    canary = node.live_canary()
    assert canary is not None
    assert not canary.ready
    canary_file(node).unlink()
    assert node.wait(lambda: 10269 not in listening(node), 5)
    free = node.occupy_port(10269)
    assert 10269 in listening(node)
    free()
    assert 10269 not in listening(node)
    node.reboot()
    assert node.wait_ready()
    assert sorted(listening(node)) == [6443, 10257, 10259]


def test_a_port_that_is_taken_ends_who_wants_it(node: SandboxNode) -> None:
    node.occupy_port(10269)
    put_canary(node)
    assert node.wait(lambda: any("10269: bind" in e.text for e in node._record.events), 5)
    assert live(node).ready


def test_a_canary_that_fails_before_it_serves_takes_no_port(node: SandboxNode) -> None:
    node.manifest.rename(node.manifest.parent / ".away")
    assert node.wait(lambda: node.live() is None, 5)
    put_canary(node, canary_manifest("--config=/nowhere.yaml"))
    assert node.wait(lambda: node.live_canary() is not None, 5)
    with node._simulation.lock:
        run = node.kubelet.run_of(CANARY_POD)
        assert run is not None
        assert run.process is not None
        assert run.process.is_alive
        assert node.kubelet.used_ports(run.spec._replace(uid="another")) == set()


def test_proc_shows_what_a_process_sees_and_needs(node: SandboxNode, shell: Shell) -> None:
    config = node.path("/etc/kubernetes/sc/config.yaml")
    config.parent.mkdir()
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf}\n"
    )
    config.write_text(text)
    manifest = canary_manifest("--config=/conf/config.yaml")
    mount = "    volumeMounts:\n    - {mountPath: /conf, name: conf}\n"
    manifest = manifest.replace("    volumeMounts:\n", mount)
    volume = "  volumes:\n  - {name: conf, hostPath: {path: /etc/kubernetes/sc}}\n"
    put_canary(node, manifest.replace("  volumes:\n", volume))
    canary = wait_canary(node)
    seen = node.path(f"/proc/{canary.pid}/root/conf/config.yaml")
    assert seen.read_text() == text
    config.write_text(f"{text}# changed\n")
    assert seen.read_text() == f"{text}# changed\n"
    assert "VmRSS:\t   52000 kB\n" in node.path(f"/proc/{canary.pid}/status").read_text()
    inside = node.path(f"/proc/{live(node).pid}/root")
    files = [str(path.relative_to(inside)) for path in inside.rglob("*") if not path.is_dir()]
    assert files == ["etc/kubernetes/scheduler.conf"], "its own mounts, and no others"
    mounts = node.path(f"/proc/{live(node).pid}/mountinfo").read_text()
    assert " /etc/kubernetes/scheduler.conf /etc/kubernetes/scheduler.conf ro," in mounts
    canary_file(node).unlink()
    assert node.wait(lambda: not node.path(f"/proc/{canary.pid}").exists(), 5)
    assert config.exists()


def test_the_memory_of_a_node_can_be_scarce(node: SandboxNode) -> None:
    meminfo = node.path("/proc/meminfo")
    assert meminfo.read_text().startswith("MemTotal:        8000000 kB\n")
    assert "\nMemAvailable:    6000000 kB\n" in meminfo.read_text()
    node.set_memory(40_000)
    assert "\nMemAvailable:      40000 kB\n" in meminfo.read_text()


def pod_to_schedule(sandbox: Sandbox, name: str) -> Callable[[], bool]:
    metadata = {"name": name, "namespace": "default"}
    sandbox.api.create({"kind": "Pod", "metadata": metadata, "spec": {"containers": []}})
    return lambda: "nodeName" in sandbox.api.get("Pod", name)["spec"]


def test_a_scheduler_that_breaks_on_its_first_pod_breaks_only_as_the_leader(
    sandbox: Sandbox, node: SandboxNode
) -> None:
    image = "example.org/breaks-on-first-pod:v1"
    node.add_image(image)
    put_canary(node, with_image(canary_manifest(), image))
    canary = wait_canary(node)
    assert node.wait(pod_to_schedule(sandbox, "by-main"), 5)
    assert node.live_canary() == canary
    node.manifest.rename(node.manifest.parent / ".away")
    assert node.wait(lambda: leading(sandbox) == CANARY_POD, 5)
    sandbox.simulation.sleep(2)
    assert node.live_canary() == canary
    holder = sandbox.election.holder()
    is_bound = pod_to_schedule(sandbox, "breaks-it")
    assert node.wait(lambda: node.live_canary() != canary, 5)
    log = (log_directory(node, canary.uid) / "0.log").read_text()
    assert "panic: " in log
    assert any(f"{CANARY_POD} {canary.uid[:8]} ended: 2" in e.text for e in sandbox.events)
    assert sandbox.election.holder() == holder
    assert leading(sandbox) == ""
    assert not is_bound()


@pytest.mark.parametrize("broken", ["canary", "main"])
def test_an_image_may_break_in_one_of_the_two_pods_only(tmp_path: Path, broken: str) -> None:
    image = f"example.org/{broken}-only-crash:v1"
    with Sandbox(tmp_path, nodes=1) as sandbox:
        node = sandbox.nodes[0]
        node.add_image(image)
        put_canary(node, with_image(canary_manifest(), image))
        node.manifest.rename(node.manifest.parent / ".away")
        node.wait(lambda: node.live() is None, 5)
        sandbox.simulation.sleep(4)
        rename_in(node, with_image(scheduler_manifest(34), image))
        fails, stands = (CANARY_POD, MAIN_POD) if broken == "canary" else (MAIN_POD, CANARY_POD)
        words = f"restarting failed container={fails}"
        assert node.wait(lambda: words in node.journal.text(), 30)

        def standing() -> Live | None:
            return node.live() if stands == MAIN_POD else node.live_canary()

        assert node.wait(lambda: (found := standing()) is not None and found.ready, 15)
        assert (found := standing()) is not None
        assert found.restarts == 0


def test_a_lease_is_patched_only_as_it_was_seen(sandbox: Sandbox, shell: Shell) -> None:
    text = shell(f"{LEASE} 'jsonpath={{.spec.holderIdentity}} {{.metadata.resourceVersion}}'")
    holder, version = text.stdout.split()
    assert holder == sandbox.election.holder()
    command = "kubectl patch lease kube-scheduler -n kube-system --type=merge -p"
    sandbox.simulation.sleep(5)  # it has been renewed meanwhile
    patch = {"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": ""}}
    refused = shell(f"{command} '{json.dumps(patch)}'")
    assert refused.returncode == 1
    start = "Error from server (Conflict): Operation cannot be fulfilled on leases"
    assert refused.stderr.startswith(start)
    assert "the object has been modified" in refused.stderr
    assert sandbox.election.holder() == holder
    with sandbox.simulation.lock:
        lease = sandbox.api.get("Lease", "kube-scheduler", "kube-system")
        patch["metadata"]["resourceVersion"] = lease["metadata"]["resourceVersion"]
        words = ("patch", "lease", "kube-scheduler", "-n", "kube-system", "-p", json.dumps(patch))
        done = sandbox.kubectl((*words, "--type=merge"), b"")
        assert (done.code, done.stdout) == (0, "lease/kube-scheduler patched\n")
        after = sandbox.api.get("Lease", "kube-scheduler", "kube-system")
    assert after["spec"] == {**lease["spec"], "holderIdentity": ""}
    assert after["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"]


def test_a_dead_holders_emptied_lease_goes_to_the_canary(sandbox: Sandbox) -> None:
    node = sandbox.nodes[0]
    sandbox.election.keep_dead_holder_every = 1
    put_canary(node)
    wait_canary(node)
    node.manifest.rename(node.manifest.parent / ".away")
    assert node.wait(lambda: node.live() is None, 5)
    sandbox.simulation.sleep(2)
    assert leading(sandbox) == ""
    patch = json.dumps({"spec": {"holderIdentity": ""}})
    command = "kubectl patch lease kube-scheduler -n kube-system --type=merge -p"
    assert shell_of(node)(f"{command} '{patch}'").returncode == 0
    assert node.wait(lambda: leading(sandbox) == CANARY_POD, 3)


def test_kubectl_tells_what_a_node_has_and_who_is_there(sandbox: Sandbox, shell: Shell) -> None:
    node = json.loads(shell("kubectl get node cp1 -o json").stdout)
    assert node["status"]["allocatable"]["cpu"] == "4"
    assert node["status"]["allocatable"]["memory"] == "8000000Ki"
    here, elsewhere = (
        json.loads(shell(f"kubectl get pods -A --field-selector=spec.nodeName={n} -o json").stdout)
        for n in ("cp1", "cp2")
    )
    assert [pod["metadata"]["name"] for pod in here["items"]] == ["kube-scheduler-cp1"]
    assert elsewhere["items"] == []


def test_a_kubelet_that_starts_takes_over_or_ends_the_canary(
    sandbox: Sandbox, node: SandboxNode, shell: Shell
) -> None:
    put_canary(node)
    canary = wait_canary(node)
    node.restart_kubelet()
    sandbox.simulation.sleep(2)
    assert node.live_canary() == canary
    node.stop_kubelet()
    shell(f"env kill -TERM {canary.pid}")
    sandbox.simulation.sleep(3)
    assert node.live_canary() is None
    node.start_kubelet()
    again = wait_canary(node)
    assert (again.uid, again.restarts) == (canary.uid, canary.restarts + 1)
    before = node.live()
    node.stop_kubelet()
    canary_file(node).unlink()
    sandbox.simulation.sleep(2)
    assert node.live_canary() == again
    node.start_kubelet()
    assert node.wait(lambda: node.live_canary() is None, 5)
    assert node.wait(lambda: again.uid not in node.runtime.sandboxes, 5)
    assert node.live() == before


def test_the_power_takes_the_canary_and_its_file_brings_it_back(
    sandbox: Sandbox, node: SandboxNode
) -> None:
    put_canary(node)
    canary = wait_canary(node)
    node.power_off()
    assert node.live_canary() is None
    assert list(node.path("/proc").glob("[0-9]*")) == []
    assert not sandbox.record.samples[-1].canaries
    node.power_on()
    assert wait_canary(node).uid == canary.uid
    assert node.wait_ready()
    node.power_off()
    canary_file(node).unlink()
    node.power_on()
    assert node.wait_ready()
    assert node.live_canary() is None
