"""apply --probe: the patch's own pods are the last proof, and take the change back if they fail."""

from __future__ import annotations

import pytest

from tests.integration.rollout.desk import QUICK, Desk
from tests.integration.rollout.rig import patch

POD = """apiVersion: v1
kind: Pod
metadata: {name: probe}
spec: {containers: [{name: a, image: b}]}
"""
WITH_PODS = (*QUICK, "--no-preflight", "--no-canary", "--probe", "--yes")


@pytest.mark.parametrize("node, code", [("cp1", 0), ("cp2", 4)])
def test_probe_pods_decide(desk: Desk, node: str, code: int) -> None:
    (desk.directory / "probe.yaml").write_text(POD)
    rest = f"  verify: {{pods: [{{manifest: ./probe.yaml, expectNode: {node}}}]}}\n"
    file = desk.writes(patch(desk.rig.fresh_v(), rest=rest))
    before = desk.rig.manifests()
    ran = desk.types("apply", "-f", file, *WITH_PODS)
    assert ran.code == code, ran.err
    assert "1 of 1 pods done" in ran.err
    assert (desk.rig.manifests() == before) is (code != 0)
    if code:
        assert "node of probe: cp1, expected cp2" in " ".join(ran.out.split())
    with desk.rig.sandbox.simulation.lock:
        pods = [pod["metadata"]["name"] for pod in desk.rig.sandbox.api.all("Pod", "default")]
    assert pods == []


def test_probe_and_no_probe_exclude_each_other(desk: Desk) -> None:
    ran = desk.types("apply", "-f", desk.writes(patch()), "--probe", "--no-probe", "--yes")
    assert (ran.code, "exclude each other" in ran.err) == (2, True)
