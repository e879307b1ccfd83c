"""`apply --persist`: what kubeadm is given, how it follows the nodes, and how it goes again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.cluster import kubeadmconfig
from kschedpatch.cluster.kubectl import Kubectl
from kschedpatch.core.kubeadm.persisting import Persisted
from kschedpatch.core.yamltext import emit
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.model import exitcodes
from kschedpatch.model.persistplan import Kept
from kschedpatch.sandbox.node import SandboxNode
from tests.integration.rollout.desk import BARE, Desk, sat_down
from tests.integration.rollout.rig import CONFIG, Rig, assert_clean, lives, patch
from tests.unit.kubeadm.rendering import kubeadm_renders

CONFIGURATION = """\
apiServer: {}
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.34.2  # by hand
scheduler:
  extraArgs:
  - name: profiling
    value: "false"
"""
PATCHES = "/etc/kubernetes/kschedpatch/kubeadm-patches"
FILE = f"{PATCHES}/kube-scheduler50-kschedpatch+strategic.yaml"
MOUNT = "  mounts: [{name: d, hostPath: /etc/machine-id, type: File}]\n"


class Kubeadm:
    """kubeadm's side: its ConfigMap, and what it makes of a node."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig

    def put(self, text: str) -> None:
        data = {"ClusterConfiguration": text}
        with self.rig.sandbox.simulation.lock:
            api = self.rig.sandbox.api
            if api.find("ConfigMap", "kubeadm-config", "kube-system") is None:
                name = {"name": "kubeadm-config", "namespace": "kube-system"}
                body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": data}
                api.create(body)
            else:
                api.patch("ConfigMap", "kubeadm-config", "kube-system", {"data": data})

    @property
    def text(self) -> str:
        found = self._find("kubeadm-config")
        assert found is not None
        return str(found["data"]["ClusterConfiguration"])

    @property
    def record(self) -> dict[str, Any] | None:
        return self._find("kschedpatch-kubeadm")

    def _find(self, name: str) -> dict[str, Any] | None:
        with self.rig.sandbox.simulation.lock:
            return self.rig.sandbox.api.find("ConfigMap", name, "kube-system")

    def remove(self) -> None:
        if self._find("kubeadm-config") is not None:
            with self.rig.sandbox.simulation.lock:
                self.rig.sandbox.api.delete("ConfigMap", "kubeadm-config", "kube-system")

    def renders(self, node: SandboxNode, base: bytes) -> None:
        """Over the node's manifest, from another base, with --patches."""
        section = value_of(read(self.text.encode()).documents[0])["scheduler"]
        given = value_of(read(node.path(FILE).read_bytes()).documents[0])
        pod = value_of(read(base).documents[0])
        made = kubeadm_renders(pod, Persisted({"extraVolumes": (), **section}, given, ""))
        # As kubeadm does it: made elsewhere, moved into place.
        new = node.manifest.parent.parent / "new.yaml"
        new.write_text(emit.document(made))
        uid = lives(node)[0]
        new.rename(node.manifest)
        assert node.wait(lambda: (live := node.live()) is not None and live.uid != uid, 60)
        assert node.wait_ready(60)


def patches_of(rig: Rig) -> list[str]:
    return [node.path(FILE).read_text() if node.path(FILE).exists() else "" for node in rig.nodes]


@pytest.fixture
def kubeadm(three: Rig) -> Kubeadm:
    made = Kubeadm(three)
    made.put(CONFIGURATION)
    return made


@pytest.fixture
def seat(
    three: Rig, kubeadm: Kubeadm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    before = three.manifests()
    desk = sat_down(three, tmp_path, monkeypatch)
    yield desk
    desk.types("rollback", "--yes", "--to", "original", *QUICK_BACK)
    assert three.manifests() == before
    assert_clean(three)


QUICK_BACK = ("--settle", "1", "--confirm-timeout", "900", "--timeout", "90")


def applied(desk: Desk, text: bytes, *more: str) -> dict[str, Any]:
    file = desk.writes(text)
    return desk.data("apply", "-f", file, "--yes", *BARE, *more)


def test_there_and_back(seat: Desk, kubeadm: Kubeadm) -> None:
    rig = seat.rig
    done = applied(seat, patch(rig.fresh_v(), rest=MOUNT), "--persist")
    assert done["exitCode"] == 0, str(done["findings"]) + str(done.get("failure"))
    assert any("--patches /etc/kubernetes" in note for note in done["notes"]), done["notes"]
    # The cluster remembers flags and mounts, byte by byte beside what others wrote there.
    assert kubeadm.text.startswith(CONFIGURATION)
    assert "name: v\n" in kubeadm.text
    assert "hostPath: /etc/machine-id" in kubeadm.text
    assert kubeadm.record is not None
    assert kubeadm.record["data"]["before"] == CONFIGURATION
    assert all("kschedpatch.io/patch: trial" in text for text in patches_of(rig))
    again = seat.data("apply", "-f", str(seat.file), "--yes", *BARE, "--persist")
    assert (again["exitCode"], again["changed"]) == (0, False)

    back = seat.data("rollback", "--yes", *QUICK_BACK)
    assert back["exitCode"] == 0
    assert kubeadm.text == CONFIGURATION
    assert kubeadm.record is None
    assert patches_of(rig) == ["", "", ""]


def test_plan_shows_it_and_changes_nothing(seat: Desk, kubeadm: Kubeadm) -> None:
    file = seat.writes(patch(seat.rig.fresh_v()))
    shown = seat.types("plan", "-f", file, "--persist")
    assert shown.code == 0
    assert "kubeadm-config" in shown.out
    assert "+  - name: v" in shown.out
    kept = seat.directory / "plan.json"
    assert seat.types("plan", "-f", file, "--persist", "--out", str(kept)).code == 0
    assert kubeadm.text == CONFIGURATION
    assert kubeadm.record is None
    # A plan that was kept persists as well.
    assert seat.types("apply", "--plan", str(kept), "--yes", *BARE).code == 0
    assert "name: v\n" in kubeadm.text


def test_what_was_persisted_follows_later_runs(seat: Desk, kubeadm: Kubeadm) -> None:
    rig = seat.rig
    first, second = rig.fresh_v(), rig.fresh_v()
    assert applied(seat, patch(first), "--persist")["exitCode"] == 0
    then = kubeadm.text
    done = applied(seat, patch(second))
    assert done["exitCode"] == 0
    assert any(finding["code"] == "N098" for finding in done["findings"])
    assert f'value: "{second}"' in kubeadm.text
    assert f'value: "{first}"' not in kubeadm.text
    # And one step back again.
    assert seat.data("rollback", "--yes", *QUICK_BACK)["exitCode"] == 0
    assert kubeadm.text == then


def test_who_edits_it_meanwhile_loses_nothing(seat: Desk, kubeadm: Kubeadm) -> None:
    file = seat.writes(patch(seat.rig.fresh_v()))
    edited = CONFIGURATION.replace("apiServer: {}", "apiServer: {timeoutForControlPlane: 4m}")
    assert seat.types("plan", "-f", file, "--persist").code == 0
    kubeadm.put(edited)
    assert seat.data("apply", "-f", file, "--yes", *BARE, "--persist")["exitCode"] == 0
    later = kubeadm.text.replace("v1.34.2", "v1.34.3")
    kubeadm.put(later)
    assert seat.data("rollback", "--yes", *QUICK_BACK)["exitCode"] == 0
    assert kubeadm.text == edited.replace("v1.34.2", "v1.34.3")


def test_what_cannot_be_persisted_is_refused_or_taken_back(
    seat: Desk, kubeadm: Kubeadm, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = seat.rig.manifests()
    kubeadm.put("kind: Something\n")
    refused = applied(seat, patch(seat.rig.fresh_v()), "--persist")
    assert refused["exitCode"] == exitcodes.REFUSED
    assert any(finding["code"] == "N095" for finding in refused["findings"])
    kubeadm.put(CONFIGURATION)

    # Gone between the look and the end: the new scheduler stands already, and goes again.
    real = kubeadmconfig.exchange

    def too_late(kubectl: Kubectl, wanted: Kept | None) -> None:
        kubeadm.remove()
        real(kubectl, wanted)

    monkeypatch.setattr(kubeadmconfig, "exchange", too_late)
    failed = applied(seat, patch(seat.rig.fresh_v()), "--persist")
    monkeypatch.undo()
    kubeadm.put(CONFIGURATION)
    assert failed["exitCode"] == exitcodes.ROLLED_BACK, failed
    assert failed["failure"]["phase"] == "persist"
    assert seat.rig.manifests() == before
    assert kubeadm.record is None
    assert patches_of(seat.rig) == ["", "", ""]


def test_a_failed_run_leaves_kubeadm_alone(seat: Desk, kubeadm: Kubeadm) -> None:
    for node in seat.rig.nodes:
        node.add_image("example.org/crash-after-1:v1")
    file = seat.writes(patch(1, scheduler="image: example.org/crash-after-1:v1"))
    failed = seat.data("apply", "-f", file, "--yes", *BARE, "--settle", "4", "--persist")
    assert failed["exitCode"] == exitcodes.ROLLED_BACK
    assert kubeadm.text == CONFIGURATION
    assert patches_of(seat.rig) == ["", "", ""]


def test_after_kubeadm_has_rendered_it_anew(seat: Desk, kubeadm: Kubeadm) -> None:
    rig = seat.rig
    base = [node.manifest_bytes() or b"" for node in rig.nodes]
    newer = [text.replace(b":v1.34.11", b":v1.34.12") for text in base]
    for node in rig.nodes:
        node.add_image("registry.k8s.io/kube-scheduler:v1.34.12")
    v = rig.fresh_v()
    assert applied(seat, patch(v, rest=MOUNT), "--persist")["exitCode"] == 0
    for node, text in zip(rig.nodes, newer, strict=True):
        kubeadm.renders(node, text)
    # It is the patch still, and nothing has to be done.
    same = seat.data("apply", "-f", str(seat.file), "--yes", *BARE, "--persist")
    assert (same["exitCode"], same["changed"]) == (0, False), same
    # Another patch replaces it: nothing of the first is left.
    other = applied(seat, patch(rig.fresh_v()), "--persist")
    assert other["exitCode"] == 0, other
    for node in rig.nodes:
        now = (node.manifest_bytes() or b"").decode()
        assert "/etc/machine-id" not in now
        assert f"--v={v}" not in now
        assert ":v1.34.12" in now
    assert "/etc/machine-id" not in kubeadm.text
    # And what lies below both is the newer manifest.
    assert seat.data("rollback", "--yes", "--to", "original", *QUICK_BACK)["exitCode"] == 0
    for node in rig.nodes:
        pod = value_of(read(node.manifest_bytes() or b"").documents[0])
        assert pod["spec"]["containers"][0]["image"].endswith(":v1.34.12")
        assert "annotations" not in pod["metadata"]
    assert kubeadm.text == CONFIGURATION
    for node, text in zip(rig.nodes, base, strict=True):
        node.manifest.write_bytes(text)
        assert node.wait_ready(60)


def test_a_node_that_will_join_gets_what_it_needs(seat: Desk, kubeadm: Kubeadm) -> None:
    rig = seat.rig
    new = rig.nodes[2]
    stood = new.manifest_bytes() or b""
    others = [node.name for node in rig.nodes[:2]]
    file = seat.writes(patch(rig.fresh_v(), rest=CONFIG))
    quick = ("--yes", *BARE)
    # It is not in the cluster yet, and the others have the patch.
    new.manifest.unlink()
    try:
        words = ("apply", "-f", file, *quick)
        assert seat.types(*words, "--partial", nodes=others).code == 0
        staged = seat.types(*words, "--stage-only", nodes=[rig.nodes[0].name, new.name])
        assert staged.code == 0, staged.err
        assert "N099" in staged.err  # kubeadm was not told
        assert f"--patches {PATCHES}" in staged.out
        given = value_of(read(new.path(FILE).read_bytes()).documents[0])
        generation = given["metadata"]["annotations"]["kschedpatch.io/generation"]
        files = new.path(f"/etc/kubernetes/kschedpatch/generations/{generation}")
        assert (files / ".sha256").exists()
        assert not new.manifest.exists()
        assert not new.path("/var/lib/kschedpatch/txn").exists()
        # Only such a node, and only with one to go by.
        assert seat.types(*words, "--stage-only", nodes=others).code == exitcodes.INVALID
        assert seat.types(*words, "--stage-only", nodes=[new.name]).code == exitcodes.INVALID
    finally:
        new.manifest.write_bytes(stood)
        assert new.wait_ready(60)
    # What was brought goes with the rest, and kubeadm's configuration was never touched.
    assert seat.data("rollback", "--yes", "--to", "original", *QUICK_BACK)["exitCode"] == 0
    assert not new.path(FILE).exists()
    assert kubeadm.text == CONFIGURATION
    assert kubeadm.record is None
