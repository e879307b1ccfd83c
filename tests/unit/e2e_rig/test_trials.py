"""Manifests that are tried on a kubelet under another name, and what it made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cluster.trials import Verdict, dropped_field, under_name
from tests.e2e.test_recipes import harmless, lost

KUBEADM = Path(__file__).parents[3] / "fixtures/manifests/kubeadm"


def test_only_the_pods_own_name_changes() -> None:
    manifest = (KUBEADM / "v1.34.yaml").read_bytes()
    changed = under_name(manifest, "trial-x")
    assert changed == manifest.replace(b"  name: kube-scheduler\n", b"  name: trial-x\n", 1)
    assert b"    name: kube-scheduler\n" in changed


@pytest.mark.parametrize("manifest", [b"metadata: {name: kube-scheduler}\n", b"kind: Pod\n", b""])
def test_what_can_not_be_renamed_is_not_tried(manifest: bytes) -> None:
    with pytest.raises(ValueError, match=r"metadata\.name"):
        under_name(manifest, "trial-x")


@pytest.mark.parametrize("minor", ["1.22", "1.28", "1.31", "1.34", "1.36"])
def test_a_trial_takes_nothing_from_the_live_scheduler(minor: str) -> None:
    tried = harmless((KUBEADM / f"v{minor}.yaml").read_text(), "trial-x", 20259).decode()
    assert "  name: trial-x\n" in tried
    assert "containerPort: 10259" not in tried
    assert "    - --secure-port=0\n    image: " in tried


def test_a_field_that_the_kubelet_ignored_is_seen() -> None:
    manifest = b"metadata: {name: a}\nspec:\n  containers:\n  - {name: c, volumeMount: [x]}\n"
    kept = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}
    assert dropped_field(manifest, Verdict("a", kept, running=True))
    assert not dropped_field(manifest.replace(b", volumeMount: [x]", b""), Verdict("a", kept, True))


def test_what_a_scheduler_lost_of_its_configuration_is_told_by_place() -> None:
    wanted = {
        "profiles": [{"schedulerName": "b", "pluginConfig": [{"name": "F", "args": {"x": 1}}]}]
    }
    default = {"schedulerName": "a"}
    good = {
        "profiles": [
            default,
            {"schedulerName": "b", "pluginConfig": [{"name": "F", "args": {"x": 1}}]},
        ]
    }
    assert lost(wanted, good) == []
    bad = {
        "profiles": [
            default,
            {"schedulerName": "b", "pluginConfig": [{"name": "F", "args": {"x": 2}}]},
        ]
    }
    assert lost(wanted, bad) == [".profiles[0].pluginConfig[0].args.x"]
    assert lost(wanted, {"profiles": [default]}) == [".profiles[0]"]
    assert lost({"qps": 50, "https": False}, {"qps": 50}) == []
