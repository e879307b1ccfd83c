"""Living with kubeadm: its upgrades, its joins, and what happens when it is at work meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.model import exitcodes
from tests.unit.kubeadm.rendering import meaning

from .cluster import kubeadm, upgrade
from .cluster.cluster import Cluster
from .cluster.console import say, wait_until
from .cluster.node import SCHEDULER_MANIFEST, Node
from .cluster.versions import upgrade_version
from .test_kubeadm import HERE, KUBEADM_CONFIG
from .tool import access, kschedpatch, patch_file, traces

PATCHES = "/etc/kubernetes/kschedpatch/kubeadm-patches"
NEXT = {"1.34": "1.35"}
SPEC = """
scheduler:
  args: {v: "3"}
  env: [{name: TZ, value: UTC}]
  dnsPolicy: ClusterFirstWithHostNet
mounts: [{name: machine-id, hostPath: /etc/machine-id, type: File}]
config: {inline: {profiles: [{schedulerName: default-scheduler}, {schedulerName: other}]}}
"""
QUICK = ("--yes", "--settle", "1")


def names(cluster: Cluster) -> list[str]:
    return [node.name for node in cluster.nodes]


def pod_of(node: Node) -> dict[str, Any]:
    value = value_of(read(node.read(SCHEDULER_MANIFEST)).documents[0])
    assert isinstance(value, dict)
    return value


def cluster_configuration(cluster: Cluster) -> str:
    return str(cluster.api.get(KUBEADM_CONFIG)["data"]["ClusterConfiguration"])


def renders_anew(
    cluster: Cluster,
    node: Node,
    patches: str = "",
    *,
    dry: bool = False,
    command: str = "kubeadm",
) -> Any:
    """`kubeadm init phase`, by what the cluster keeps: as an upgrade and a join do it."""
    configuration = cluster_configuration(cluster)
    version = value_of(read(configuration.encode()).documents[0])["apiVersion"]
    init = (
        f"apiVersion: {version}\nkind: InitConfiguration\n"
        f"localAPIEndpoint: {{advertiseAddress: {node.address}}}\n"
        + (f"patches: {{directory: {patches}}}\n" if patches else "")
    )
    node.run(f"mkdir -p {HERE}; rm -rf /etc/kubernetes/tmp/kubeadm-init-dryrun*")
    node.run(f"cat > {HERE}/c.yaml", stdin=f"{configuration}---\n{init}".encode())
    flag = "--dry-run" if dry else ""
    node.run(f"{command} init phase control-plane scheduler {flag} --config {HERE}/c.yaml")
    node.run(f"rm -rf {HERE}")
    if not dry:
        return None
    found = node.output("ls /etc/kubernetes/tmp/kubeadm-init-dryrun*/kube-scheduler.yaml").strip()
    return value_of(read(node.read(found)).documents[0])


@pytest.mark.full
@pytest.mark.usefixtures("kubeadms_manifests")
def test_what_is_not_persisted_is_wiped_and_mended(cluster: Cluster, tmp_path: Path) -> None:
    patch = patch_file(tmp_path, SPEC)
    words = (*names(cluster), *access(cluster))
    assert kschedpatch(cluster, "apply", "-f", patch, *words, *QUICK).code == 0
    wiped = cluster.nodes[1]
    renders_anew(cluster, wiped)
    wait_until("the stock scheduler", wiped.scheduler_ready, 60)
    status = kschedpatch(cluster, "status", *words, "-o", "json").document
    states = {node["node"]: node["state"] for node in status["nodes"]}
    assert "wiped" in states[wiped.name], states
    assert sum("wiped" in state for state in states.values()) == 1
    verified = kschedpatch(cluster, "verify", *words)
    assert verified.code == exitcodes.DIFFERENCES
    assert "wiped" in verified.out or "kubeadm" in verified.out, verified.out
    mended = kschedpatch(cluster, "apply", "-f", patch, *words, *QUICK, "-o", "json")
    assert mended.code == 0, mended.err
    outcomes = {node["node"]: node["outcome"] for node in mended.document["nodes"]}
    assert [name for name, how in outcomes.items() if how == "changed"] == [wiped.name]
    assert kschedpatch(cluster, "verify", *words).code == 0
    assert kschedpatch(cluster, "rollback", *words, *QUICK, "--to", "original").code == 0


class Operator:
    """An apply that runs beside the test, with its events."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "kschedpatch", "apply", *words, "--progress", "json"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
        self.events: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if line.startswith("{"):
                self.events.append(json.loads(line))

    def reached(self, phase: str, state: str, node: str) -> Callable[[], bool]:
        wanted = (phase, state, node)

        def there() -> bool:
            seen = [(e.get("phase"), e.get("state"), e.get("node")) for e in list(self.events)]
            return wanted in seen or self.process.poll() is not None

        return there

    def ends(self) -> int:
        code = self.process.wait(timeout=300)
        self._reader.join(timeout=10)
        return code


@pytest.mark.full
@pytest.mark.usefixtures("kubeadms_manifests")
def test_kubeadm_in_the_middle_of_a_run(cluster: Cluster, tmp_path: Path) -> None:
    """It renders the manifest over the one that was switched in: what it wrote stays."""
    patch = patch_file(tmp_path, 'scheduler: {args: {v: "4"}}')
    node = next(n for n in cluster.nodes if n.name != cluster.lease_holder())
    words = ("-f", patch, node.name, *access(cluster), "--yes", "--partial", "--settle", "30")
    operator = Operator(*words, "-o", "json")
    wait_until("the switch", operator.reached("switch", "done", node.name), 120, 0.1)
    renders_anew(cluster, node)
    after = node.read(SCHEDULER_MANIFEST)
    assert b"--v=4" not in after
    code = operator.ends()
    say(f"apply ended with {code}")
    assert code in (exitcodes.ROLLED_BACK, exitcodes.NOT_RESTORED), operator.events[-5:]
    # Neither was overwritten by the other, and the scheduler works.
    assert node.read(SCHEDULER_MANIFEST) == after
    wait_until("no traces", lambda: traces(node) == [], 150)
    assert node.read(SCHEDULER_MANIFEST) == after
    wait_until("a scheduler", node.scheduler_ready, 90)
    assert kschedpatch(cluster, "status", *names(cluster), *access(cluster)).code == 0


@pytest.mark.full
@pytest.mark.usefixtures("kubeadms_manifests")
def test_a_run_in_the_middle_of_kubeadm(cluster: Cluster, tmp_path: Path) -> None:
    """An upgrade to the same release renders everything anew: as long as it is at work, refused."""
    node = cluster.nodes[0]
    release = cluster.version.release
    # Something has to differ, or kubeadm has nothing to exchange.
    node.put_manifest(node.read(SCHEDULER_MANIFEST).replace(b"tier: control-plane", b"tier: x", 1))
    wait_until("the edited scheduler", node.scheduler_ready, 60)
    command = (
        f"kubeadm upgrade apply v{release} --yes --force --etcd-upgrade=false"
        " --ignore-preflight-errors=all --skip-phases=addon"
    )
    done: list[int] = []
    thread = threading.Thread(
        target=lambda: done.append(node.run(command, timeout=420, check=False).returncode)
    )
    thread.start()
    try:
        at_work = "pgrep -x kubeadm"
        wait_until("kubeadm", lambda: node.run(at_work, check=False).returncode == 0, 30, 0.1)
        patch = patch_file(tmp_path, 'scheduler: {args: {v: "4"}}')
        words = ("-f", patch, *names(cluster), *access(cluster), *QUICK)
        refused = kschedpatch(cluster, "apply", *words, "-o", "json")
        assert not done, "kubeadm was quicker"
        assert refused.code == exitcodes.REFUSED, refused
    finally:
        thread.join()
    assert done == [0]
    assert b"tier: x" not in node.read(SCHEDULER_MANIFEST)
    cluster.wait_schedulers(120)
    assert kschedpatch(cluster, "apply", *words).code == 0
    rolled = kschedpatch(cluster, "rollback", *names(cluster), *access(cluster), *QUICK)
    assert rolled.code == 0, rolled.err


@pytest.mark.full
@pytest.mark.three_nodes
@pytest.mark.upgrades
def test_an_upgrade_and_a_join_keep_what_was_persisted(cluster: Cluster, tmp_path: Path) -> None:
    if cluster.version.minor not in NEXT:
        pytest.skip(f"nothing is built that follows {cluster.version.minor}")
    version = upgrade_version(NEXT[cluster.version.minor])
    patch = patch_file(tmp_path, SPEC)
    words = (*names(cluster), *access(cluster))
    stood = cluster_configuration(cluster)
    applied = kschedpatch(cluster, "apply", "-f", patch, *words, *QUICK, "--persist")
    assert applied.code == 0, applied.err
    assert f"--patches {PATCHES}" in applied.out, applied.out
    # kubeadm itself, on every node.
    for node in cluster.nodes:
        assert meaning(renders_anew(cluster, node, PATCHES, dry=True)) == meaning(pod_of(node))

    assert (
        kschedpatch(
            cluster, "plan", "-f", patch, *words, "--kubernetes-version", version.minor
        ).code
        == 0
    )
    upgrade.bring(list(cluster.nodes), version)
    for node in cluster.nodes:
        upgrade.upgrade(node, version, first=node is cluster.nodes[0], patches=PATCHES)
        wait_until(f"the scheduler of {node.name}", node.scheduler_ready, 120)
    kept_everywhere(cluster, version.release)
    assert kschedpatch(cluster, "verify", "-f", patch, *words).code == 0
    status = kschedpatch(cluster, "status", *words)
    assert "kept by kubeadm" in status.out, status.out
    again = kschedpatch(cluster, "apply", "-f", patch, *words, *QUICK, "--persist", "-o", "json")
    assert (again.code, again.document["changed"]) == (0, False), again.err

    # A node that is made anew, and joins.
    new = cluster.nodes[-1]
    say(f"{new.name}: leaving, to join again")
    new.run("kubeadm-next reset --force", timeout=180)
    cluster.api.delete(f"/api/v1/nodes/{new.name}")
    new.run("rm -rf /etc/kubernetes/kschedpatch /var/lib/kschedpatch")
    model = cluster.nodes[0].name
    staged = kschedpatch(
        cluster, "apply", "-f", patch, model, new.name, *access(cluster), "--yes", "--stage-only"
    )
    assert staged.code == 0, staged.err
    # What it needs of the other nodes' keys was uploaded at the cluster's own start.
    kubeadm.join(new, cluster.version, command=upgrade.KUBEADM, patches=PATCHES)
    wait_until("the scheduler of the new node", new.scheduler_ready, 120)
    kept_everywhere(cluster, version.release)
    assert kschedpatch(cluster, "verify", "-f", patch, *words).code == 0

    # And all of it goes again: from the nodes, which run the newer version, and from kubeadm.
    rolled = kschedpatch(cluster, "rollback", *words, *QUICK, "--to", "original")
    assert rolled.code == 0, rolled.err
    now = cluster_configuration(cluster)
    scheduler = value_of(read(now.encode()).documents[0])["scheduler"]
    assert scheduler == value_of(read(stood.encode()).documents[0])["scheduler"]
    for node in cluster.nodes:
        pod = pod_of(node)
        assert "annotations" not in pod["metadata"]
        assert pod["spec"]["containers"][0]["image"].endswith(f":v{version.release}")
        rendered = renders_anew(cluster, node, dry=True, command=upgrade.KUBEADM)
        assert meaning(rendered) == meaning(pod)
    cluster.wait_schedulers(120)
    purged = kschedpatch(cluster, "purge", *words, "--yes")
    assert purged.code == 0, purged.err
    for node in cluster.nodes:
        left = "find / -xdev -name '*kschedpatch*' -not -path '/proc/*' -not -path '/tmp/*'"
        assert node.output(left).split() == []


def kept_everywhere(cluster: Cluster, release: str) -> None:
    for node in cluster.nodes:
        pod = pod_of(node)
        [container] = pod["spec"]["containers"]
        assert container["image"].endswith(f":v{release}")
        assert pod["metadata"]["annotations"]["kschedpatch.io/patch"] == "e2e"
        assert "--v=3" in container["command"]
        assert any(word.startswith("--config=") for word in container["command"])
        assert pod["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
        assert {"name": "TZ", "value": "UTC"} in container["env"]
