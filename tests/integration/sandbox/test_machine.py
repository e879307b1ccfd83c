"""The parts of a sandbox node around the kubelet: tools, systemd, power, disks, clock, SSH."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import paramiko
import pytest

from kschedpatch.sandbox.node import SandboxNode
from kschedpatch.sandbox.sandbox import Sandbox
from kschedpatch.sandbox.sshserver import SshServer
from kschedpatch.sandbox.tree import scheduler_image
from tests.integration.sandbox.conftest import Shell, marked, move_away, rename_in, shell_of

UNIT = """[Unit]
Before=kubelet.service
[Service]
ExecStartPre=/bin/sh /var/lib/dead/pre.sh
ExecStart=/bin/sh /var/lib/dead/watch.sh
Restart=on-failure
RestartSec=1
[Install]
WantedBy=multi-user.target
"""
PRE = """sleep 1
[ -d "$KSCHEDPATCH_ROOT"/proc/5* ] && said=live || said=none
echo $said >>"$KSCHEDPATCH_ROOT/var/lib/dead/pre"
"""
WATCH = 'echo $$ >"$KSCHEDPATCH_ROOT/var/lib/dead/pid"; while :; do sleep 1; done\n'


@pytest.fixture
def dead_man(node: SandboxNode) -> str:
    node.path("/etc/systemd/system/dead.service").write_text(UNIT)
    node.path("/var/lib/dead").mkdir()
    node.path("/var/lib/dead/pre.sh").write_text(PRE)
    node.path("/var/lib/dead/watch.sh").write_text(WATCH)
    return "dead.service"


def pid_of(node: SandboxNode) -> int:
    path = node.path("/var/lib/dead/pid")
    node.wait(lambda: path.exists() and bool(path.read_text().strip()), 20)
    return int(path.read_text())


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_tools_answer_as_on_a_node(node: SandboxNode, shell: Shell) -> None:
    live = node.live()
    assert live is not None
    assert shell("kubelet --version").stdout == "Kubernetes v1.34.11\n"
    assert shell("hostname; id -u").stdout == "cp1\n0\n"
    assert shell("curl -sk --max-time 2 https://127.0.0.1:10259/readyz").stdout == "ok"
    assert shell("wget -q -O - -T 2 https://127.0.0.1:10259/readyz").stdout == "ok"
    assert shell("curl -sk https://127.0.0.1:10269/readyz").returncode == 7
    running = shell(f"crictl ps -q --label io.kubernetes.pod.uid={live.uid}").stdout
    assert len(running.split()) == 1
    assert shell("crictl ps -q --name '^kube-scheduler$'").stdout == running
    assert (
        shell(f"crictl ps -a -q --state Exited --label io.kubernetes.pod.uid={live.uid}").stdout
        == ""
    )
    assert shell(f"crictl inspecti {scheduler_image(34)}").returncode == 0
    assert shell("crictl inspecti example.org/none:v1").returncode == 1
    assert shell("crictl pull example.org/none:v1").returncode == 1
    assert shell(f"ctr -n k8s.io images ls -q name=={scheduler_image(34)}").stdout.strip()
    assert shell("systemctl is-active --quiet kubelet").returncode == 0


def test_exited_containers_are_inspected_and_removed(node: SandboxNode, shell: Shell) -> None:
    live = node.live()
    assert live is not None
    move_away(node)
    listed = f"crictl ps -a -q --state Exited --label io.kubernetes.pod.uid={live.uid}"
    gone = shell(listed).stdout.strip()
    template = "'{{.status.exitCode}} {{.status.reason}}'"
    shown = shell(f"crictl inspect -o go-template --template {template} {gone}").stdout
    assert shown == "0 Completed\n"
    assert shell(f"crictl rm {gone}").returncode == 0
    assert shell(listed).stdout == ""


def test_the_journal_is_read_from_a_cursor_on(node: SandboxNode, shell: Shell) -> None:
    told = shell("journalctl -q --no-pager -o cat -n 1 --show-cursor").stdout
    cursor = told.rpartition("-- cursor: ")[2].strip()
    rename_in(node, "nothing")
    node.wait(lambda: "Unable to process" in node.journal.text(), 5)
    since = shell(f"journalctl -q --no-pager -o cat -u kubelet --after-cursor='{cursor}'").stdout
    assert since.count("\n") == 1
    assert "Unable to process watch event" in since


def test_a_preflight_has_the_verdict_of_a_start(node: SandboxNode, shell: Shell) -> None:
    config = node.path("/etc/kubernetes/sc.yaml")
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "clientConnection: {{kubeconfig: /etc/kubernetes/scheduler.conf}}\n"
        "profiles: [{{plugins: {{score: {{enabled: [{{name: {0}}}]}}}}}}]\n"
    )
    mounts = " ".join(
        f"--mount type=bind,src={node.root}{path},dst={path},options=rbind:ro"
        for path in ("/etc/kubernetes/sc.yaml", "/etc/kubernetes/scheduler.conf")
    )
    command = "kube-scheduler --config=/etc/kubernetes/sc.yaml --write-config-to=/dev/stdout"
    run = f"ctr -n k8s.io run --rm {mounts} {scheduler_image(34)} try-1 {command}"
    config.write_text(text.format("ImageLocality"))
    assert shell(run).returncode == 0
    by_exec = f"crictl exec -i $(crictl ps -q) kube-scheduler --config=/dev/stdin <{config}"
    assert shell(by_exec).returncode == 0
    config.write_text(text.format("Absent"))
    for tried in (shell(run), shell(by_exec)):
        assert tried.returncode == 1
        assert 'ScorePlugin \\"Absent\\" does not exist' in tried.stderr


def test_systemd_runs_a_unit_and_brings_it_back(
    node: SandboxNode, shell: Shell, dead_man: str
) -> None:
    assert shell(f"systemctl daemon-reload && systemctl start {dead_man}").returncode == 0
    assert node.path("/var/lib/dead/pre").read_text() == "live\n"
    assert shell(f"systemctl is-active --quiet {dead_man}").returncode == 0
    pid = pid_of(node)
    node.path("/var/lib/dead/pid").unlink()
    os.kill(pid, signal.SIGKILL)
    again = pid_of(node)
    assert again != pid
    assert shell(f"systemctl stop {dead_man}").returncode == 0
    assert not is_alive(again)
    assert shell(f"systemctl is-active {dead_man}").stdout == "inactive\n"


def test_a_reboot_kills_all_and_starts_the_dead_man_before_the_kubelet(
    node: SandboxNode, shell: Shell, dead_man: str
) -> None:
    shell(f"systemctl enable --quiet {dead_man}; systemctl start {dead_man}")
    session = subprocess.Popen(["sh", "-c", "sleep 900"], env={**os.environ, **node.environment()})
    before, boot = pid_of(node), node.path("/proc/sys/kernel/random/boot_id").read_text()
    node.path("/run/left").write_text("x")
    node.reboot()
    assert session.wait(5) == -signal.SIGKILL
    assert not is_alive(before)
    assert not node.path("/run/left").exists()
    assert node.path("/run/systemd/system").is_dir()
    assert node.path("/proc/sys/kernel/random/boot_id").read_text() != boot
    assert float(node.path("/proc/uptime").read_text().split()[0]) < 10
    assert node.path("/var/lib/dead/pre").read_text() == "live\nnone\n"
    assert node.wait_ready()
    shell(f"systemctl disable --quiet {dead_man}; systemctl stop {dead_man}")
    assert not is_alive(pid_of(node))


def test_who_waited_when_the_power_went_does_not_come_back_twice(
    sandbox: Sandbox, node: SandboxNode
) -> None:
    rename_in(node, marked("waits"))
    assert node.wait(lambda: node.live() is None, 5)
    node.power_off()
    assert list(node.path("/proc").glob("[0-9]*")) == []
    sandbox.simulation.sleep(12)
    assert list(node.path("/proc").glob("[0-9]*")) == []
    node.power_on()
    assert node.wait_ready()
    sandbox.simulation.sleep(12)
    assert len(list(node.path("/proc").glob("[0-9]*"))) == 1


def test_time_on_the_node_is_the_simulations(node: SandboxNode, shell: Shell) -> None:
    began = time.monotonic()
    shell("sleep 4.5")
    assert 0.44 <= time.monotonic() - began < 2
    up = float(node.path("/proc/uptime").read_text().split()[0])
    node._simulation.sleep(5)
    assert float(node.path("/proc/uptime").read_text().split()[0]) >= up + 4
    node.set_clock(-86400)
    assert abs(int(shell("date +%s").stdout) + 86400 - time.time()) < 5


def test_sudo_asks_only_where_it_is_told_to(node: SandboxNode, shell: Shell) -> None:
    node.sudo("free", lecture="Be careful.")
    assert shell("id -u; sudo -n id -u").stdout == "1000\n0\n"
    node.sudo("asks", "secret")
    assert shell("sudo -n id -u").returncode == 1
    asked = shell("printf 'secret\\nrest\\n' | sudo -S -p 'prompt?' cat")
    assert (asked.returncode, asked.stdout) == (0, "rest\n")
    assert asked.stderr.startswith("prompt?")
    assert shell("printf 'a\\nb\\nc\\n' | sudo -S -p x id").returncode == 1


def test_disks_can_be_full_and_read_only(tmp_path: Path) -> None:
    with Sandbox(tmp_path, nodes=1, breakable_disks=True) as sandbox:
        node = sandbox.nodes[0]
        if not node.can_break_disks:
            pytest.skip("needs root on Linux")
        directory = node.manifest.parent
        empty = node.fill_disk()
        with pytest.raises(OSError, match="No space left"):
            (directory / ".x").write_text("x")
        node.manifest.rename(directory / ".away")
        (directory / ".away").rename(node.manifest)
        empty()
        (directory / ".x").write_text("x")
        node.read_only(True)
        with pytest.raises(OSError, match="Read-only"):
            (directory / ".x").rename(directory / ".y")
        node.read_only(False)
        (directory / ".x").rename(directory / ".y")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("three"), nodes=3, minor=28) as sandbox:
        yield sandbox


def test_a_released_lease_is_taken_over_soon_and_a_dead_holders_late(three: Sandbox) -> None:
    leader = three.leader()
    assert leader is not None
    began = three.simulation.now()
    text = leader.manifest.read_text()
    move_away(leader)
    assert leader.wait(lambda: three.leader() is not None, 8)
    # Two standbys ask every 2-4.4 s, each by its own clock: the first of them gets it.
    assert 0 < max(three.record.without_leader(began)) < 4.5
    rename_in(leader, text)
    assert leader.wait_ready()
    holder = three.leader()
    assert holder is not None
    began = three.simulation.now()
    holder.power_off()
    assert leader.wait(lambda: three.leader() is not None, 30)
    # Fifteen seconds from when the first standby saw it renewed, and up to its next attempt.
    assert 12 < max(three.record.without_leader(began)) < 22
    holder.power_on()
    assert holder.wait_ready()


def test_without_an_api_server_nothing_is_ready_and_nobody_leads(three: Sandbox) -> None:
    shell = shell_of(three.nodes[0])
    three.api_down()
    refused = shell("kubectl --request-timeout=2s get nodes -o json")
    assert refused.returncode == 1
    assert "was refused" in refused.stderr
    assert all((live := node.live()) and not live.ready for node in three.nodes)
    assert three.nodes[0].wait(lambda: three.leader() is None, 20)
    three.api_up()
    assert all(node.wait_ready(30) for node in three.nodes)
    assert three.nodes[0].wait(lambda: three.leader() is not None, 30)


def test_kubectl_reads_writes_and_guards_objects(three: Sandbox) -> None:
    shell = shell_of(three.nodes[0])
    addresses = '{range .status.addresses[*]}{" "}{.address}{end}'
    names = f'jsonpath={{range .items[*]}}{{.metadata.name}}{addresses}{{"\\n"}}{{end}}'
    listed = shell(
        f"kubectl get nodes -l node-role.kubernetes.io/control-plane -o '{names}'"
    ).stdout
    assert listed.splitlines()[0] == "cp1 10.0.0.11 cp1"
    lease = "kubectl -n kube-system get lease kube-scheduler -o"
    assert shell(f"{lease} 'jsonpath={{.spec.holderIdentity}}'").stdout.startswith("cp")
    stale = json.loads(shell(f"{lease} json").stdout)
    stale["metadata"]["resourceVersion"] = "1"
    conflict = shell(f"echo '{json.dumps(stale)}' | kubectl replace -f -")
    assert "Error from server (Conflict)" in conflict.stderr
    role = json.dumps({"apiVersion": "v1", "kind": "ClusterRole", "metadata": {"name": "x"}})
    assert "created" in shell(f"echo '{role}' | kubectl apply -f -").stdout
    assert "unchanged" in shell(f"echo '{role}' | kubectl apply -f -").stdout
    listed = shell("kubectl get clusterrole x -o name").stdout
    assert listed == "clusterrole.rbac.authorization.k8s.io/x\n"
    assert shell(f"echo '{role}' | kubectl delete -f - --ignore-not-found").returncode == 0
    assert "NotFound" in shell("kubectl get clusterrole x").stderr
    assert shell("kubectl get clusterrole x --ignore-not-found -o json").stdout == ""
    assert shell("kubectl auth can-i update pods --as system:kube-scheduler").stdout == "yes\n"
    assert shell("kubectl get --raw '/livez'").stdout == "ok"


def test_pods_are_bound_or_unschedulable_by_the_leader(three: Sandbox) -> None:
    def pod(name: str, **spec: object) -> dict[str, object]:
        metadata = {"name": name, "namespace": "default"}
        return {"kind": "Pod", "metadata": metadata, "spec": {"containers": [], **spec}}

    three.api.create(pod("fits"))
    three.api.create(pod("fits-nowhere", nodeSelector={"no": "where"}))
    three.nodes[0].wait(lambda: "status" in three.api.get("Pod", "fits-nowhere"), 10)
    assert three.api.get("Pod", "fits")["spec"]["nodeName"].startswith("cp")
    told = three.api.get("Pod", "fits-nowhere")["status"]["conditions"][0]
    assert (told["status"], told["reason"]) == ("False", "Unschedulable")


def test_the_own_ssh_server_runs_commands_and_jumps(node: SandboxNode) -> None:
    key = paramiko.ECDSAKey.generate()
    server = SshServer(key, node.environment)
    inner = SshServer(key, node.environment)
    node.on_power_off.append(server.drop_connections)
    client, behind = trusting_client(), trusting_client()
    try:
        options = {"username": "root", "pkey": key, "allow_agent": False, "look_for_keys": False}
        client.connect("127.0.0.1", server.port, **options)  # type: ignore[arg-type]
        stdin, stdout, stderr = client.exec_command("cat; hostname; echo no >&2; exit 3")
        stdin.write("x" * 100_000 + "\n")
        stdin.channel.shutdown_write()
        assert stdout.read() == b"x" * 100_000 + b"\ncp1\n"
        assert stderr.read() == b"no\n"
        assert stdout.channel.recv_exit_status() == 3
        transport = client.get_transport()
        assert transport is not None
        hop = transport.open_channel("direct-tcpip", ("127.0.0.1", inner.port), ("127.0.0.1", 0))
        behind.connect("127.0.0.1", inner.port, sock=hop, **options)  # type: ignore[arg-type]
        assert behind.exec_command("hostname")[1].read() == b"cp1\n"
        wrong = {**options, "pkey": paramiko.ECDSAKey.generate()}
        with pytest.raises(paramiko.AuthenticationException):
            trusting_client().connect("127.0.0.1", server.port, **wrong)  # type: ignore[arg-type]
        node.power_off()
        transport.join(2)
        assert not transport.is_active()
    finally:
        behind.close()
        client.close()
        inner.close()
        server.close()


def trusting_client() -> paramiko.SSHClient:
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())  # noqa: S507 (our own server)
    return client
