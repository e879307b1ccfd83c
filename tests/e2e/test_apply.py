"""apply, verify, a further change and rollback on real control-plane nodes, by every way in."""

from __future__ import annotations

from pathlib import Path

import pytest

from kschedpatch.model import exitcodes

from .cluster.access import PASSWORD_USER, SUDO_PASSWORD, SUDO_USER
from .cluster.cluster import Cluster
from .cluster.node import SCHEDULER_MANIFEST, Node
from .tool import NODES, access, at_a_terminal, kschedpatch, patch_file, standing, traces

pytestmark = pytest.mark.usefixtures("kubeadms_manifests")
BIN_PACKING = """
config:
  inline:
    profiles:
    - schedulerName: default-scheduler
    - schedulerName: packing
      pluginConfig:
      - name: NodeResourcesFit
        args: {scoringStrategy: {type: MostAllocated}}
rbac:
  rules: [{apiGroups: [""], resources: [pods], verbs: [update, patch]}]
"""
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kschedpatch:e2e"


def tree_of(node: Node) -> str:
    """Everything that a look could have touched, with sizes and times of change."""
    places = "/etc /var/lib/kschedpatch /opt /root /home /run/kschedpatch"
    return node.output(f"find {places} -printf '%p %s %C@ %m\\n' 2>/dev/null | sort; true")


def test_apply_verify_change_and_rollback(cluster: Cluster, tmp_path: Path) -> None:
    originals = {node.name: standing(node) for node in cluster.nodes}
    trees = {node.name: tree_of(node) for node in cluster.nodes}
    patch = patch_file(tmp_path, BIN_PACKING)
    planned = kschedpatch(cluster, "plan", "-f", patch, *NODES, *access(cluster), "--exit-code")
    assert planned.code == 1, planned.err
    assert {node.name: standing(node) for node in cluster.nodes} == originals
    assert {node.name: tree_of(node) for node in cluster.nodes} == trees

    applied = kschedpatch(
        cluster, "apply", "-f", patch, *NODES, *access(cluster), "--yes", "--reason", "a trial"
    )
    assert applied.code == 0, applied.err
    cluster.wait_schedulers()
    for node in cluster.nodes:
        assert standing(node).uid != originals[node.name].uid
        assert traces(node) == []
    assert cluster.api.exists(ROLE)
    assert kschedpatch(cluster, "verify", *NODES, *access(cluster)).code == 0
    again = kschedpatch(cluster, "apply", "-f", patch, *NODES, *access(cluster), "--yes")
    assert (again.code, "nothing" in (again.out + again.err).lower()) == (0, True)

    changed = patch_file(tmp_path, BIN_PACKING + 'scheduler: {args: {v: "3"}}\n')
    quick = (*NODES, *access(cluster), "--yes", "--settle", "1")
    second = kschedpatch(cluster, "apply", "-f", changed, *quick)
    assert second.code == 0, second.err
    assert b"--v=3" in cluster.nodes[0].read(SCHEDULER_MANIFEST)

    history = kschedpatch(cluster, "history", "cp1", *access(cluster)).out
    assert "a trial" in history
    status = kschedpatch(cluster, "status", *NODES, *access(cluster)).out
    assert cluster.lease_holder() in status

    back = kschedpatch(cluster, "rollback", *quick, "--to", "original")
    assert back.code == 0, back.err
    cluster.wait_schedulers()
    for node in cluster.nodes:
        assert standing(node).manifest == originals[node.name].manifest
        assert standing(node).uid == originals[node.name].uid
        assert traces(node) == []
    assert not cluster.api.exists(ROLE)


STRANGE = """
config:
  inline: {profiles: [{plugins: {score: {enabled: [{name: Strange}]}}}]}
"""
CAUGHT = {
    "bad flag": ('scheduler: {args: {bogus: "1"}}', exitcodes.REFUSED, "unknown flag: --bogus"),
    "missing image": (
        "scheduler: {image: registry.k8s.io/nowhere:v1}",
        exitcodes.REFUSED,
        "nowhere",
    ),
    "unknown plugin": (STRANGE, exitcodes.INVALID, "Strange"),
}


@pytest.mark.parametrize("name", CAUGHT)
def test_what_is_caught_before_anything_live_is_touched(
    cluster: Cluster, tmp_path: Path, name: str
) -> None:
    spec, code, words = CAUGHT[name]
    before = {node.name: standing(node) for node in cluster.nodes}
    patch = patch_file(tmp_path, spec)
    applied = kschedpatch(cluster, "apply", "-f", patch, *NODES, *access(cluster), "--yes")
    assert (applied.code, words in applied.out + applied.err) == (code, True), applied
    # The manifest's bytes, the pod's uid, and the very container: it was not restarted.
    assert {node.name: standing(node) for node in cluster.nodes} == before
    for node in cluster.nodes:
        assert traces(node) == []


@pytest.mark.parametrize("address", [f"{SUDO_USER}@cp2", "cp3-inner"], ids=["sudo", "ProxyJump"])
def test_other_ways_in(cluster: Cluster, tmp_path: Path, address: str) -> None:
    """Of one node each: the way there is what differs."""
    patch = patch_file(tmp_path, 'scheduler: {args: {v: "4"}}')
    words = (address, *access(cluster), "--yes", "--settle", "1")
    applied = kschedpatch(cluster, "apply", "-f", patch, *words, "--partial")
    assert applied.code == 0, applied.err
    back = kschedpatch(cluster, "rollback", *words)
    assert back.code == 0, back.err


def test_the_other_nodes_are_found_by_asking_one(cluster: Cluster) -> None:
    """They are reached by their addresses, for which the operator's ssh_config has no entry."""
    keys = ("--identity", str(cluster.access.identity))
    hosts = ("--known-hosts", str(cluster.access.known_hosts))
    status = kschedpatch(
        cluster, "status", "root@cp1", "--discover", *access(cluster), *keys, *hosts
    )
    assert status.code == 0, status.err
    assert all(node.name in status.out for node in cluster.nodes)


def test_sudo_with_a_password_that_nobody_else_sees(cluster: Cluster, tmp_path: Path) -> None:
    patch = patch_file(tmp_path, 'scheduler: {args: {v: "4"}}')
    names = [f"{PASSWORD_USER}@{name}" for name in NODES[:2]]  # asked once, for all
    words = [*names, *access(cluster), "-K", "--yes", "--settle", "1"]
    applied = at_a_terminal(["apply", "-f", patch, *words, "--partial"], SUDO_PASSWORD)
    assert applied.code == 0, applied.out
    back = at_a_terminal(["rollback", *words], SUDO_PASSWORD)
    assert back.code == 0, back.out
    assert SUDO_PASSWORD not in applied.out + back.out
    places = "/var/lib/kschedpatch /etc/kubernetes /var/log/pods /tmp /run/kschedpatch"
    for node in cluster.nodes:
        seen = node.output(
            f"grep -rlF '{SUDO_PASSWORD}' {places} 2>/dev/null;"
            f" journalctl -q --no-pager | grep -F '{SUDO_PASSWORD}'; true"
        )
        assert seen == ""
