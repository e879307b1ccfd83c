"""lint and render for patches whose target is a Deployment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kschedpatch.core.yamltext import emit
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from tests.unit.command_line import run
from tests.unit.deployments.values import LIVE

HEAD = "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: mine}\nspec:\n"
SECOND = f"""{HEAD}
  target: {{newDeployment: kube-system/packer}}
  config: {{inline: {{profiles: [{{schedulerName: packing}}]}}}}
"""
CHANGED = f"""{HEAD}
  target: {{deployment: kube-system/gpu}}
  scheduler: {{args: {{v: "5"}}}}
"""
KUBEADM = str(Path(__file__).parents[3] / "fixtures" / "manifests" / "kubeadm" / "v1.34.yaml")


@pytest.fixture
def second(tmp_path: Path) -> str:
    (tmp_path / "second.yaml").write_text(SECOND)
    return str(tmp_path / "second.yaml")


@pytest.fixture
def changed(tmp_path: Path) -> str:
    (tmp_path / "changed.yaml").write_text(CHANGED)
    return str(tmp_path / "changed.yaml")


@pytest.fixture
def live(tmp_path: Path) -> str:
    (tmp_path / "live.yaml").write_text(emit.document(LIVE))
    return str(tmp_path / "live.yaml")


def test_lint_does_without_a_version_and_a_manifest(second: str, changed: str) -> None:
    for file in (second, changed):
        ran = run("lint", "-f", file)
        assert (ran.code, ran.out) == (0, "ok: nothing found\n"), ran.out


def test_lint_knows_what_is_wrong_in_the_cluster_too(changed: str, live: str) -> None:
    text = Path(live).read_text()
    Path(live).write_text(text.replace("replicas: 2", "replicas: 0"))
    ran = run("lint", "-f", changed, "--manifest", live)
    assert ran.code == 2
    assert "N082" in ran.out


def test_render_writes_what_kubectl_applies(second: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = run("render", "-f", second, "--kubernetes-version", "1.34.2", "--out", str(out))
    assert ran.code == 0, ran.err
    assert [Path(line).name for line in ran.out.split()] == [
        "10-objects.yaml",
        "20-deployment.yaml",
    ]
    kinds = [value_of(d)["kind"] for d in read((out / "10-objects.yaml").read_bytes()).documents]
    assert kinds[0] == "ServiceAccount"
    assert kinds[-1] == "ConfigMap"
    [deployment] = read((out / "20-deployment.yaml").read_bytes()).documents
    assert value_of(deployment)["metadata"]["name"] == "packer"


def test_render_of_a_change_holds_only_the_change(changed: str, live: str) -> None:
    ran = run("render", "-f", changed, "--manifest", live, "-o", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)["deployment"]
    assert list(document["spec"]) == ["template"]
    shown = run("render", "-f", changed, "--manifest", live)
    assert "--v=5" in shown.out
    assert "sidecar" not in shown.out


def test_what_does_not_go_together_is_told(
    second: str, changed: str, live: str, tmp_path: Path
) -> None:
    pod_patch = tmp_path / "pod.yaml"
    pod_patch.write_text(f'{HEAD}  scheduler: {{args: {{v: "5"}}}}\n')
    for words in (
        ("render", "-f", second),  # no version
        ("render", "-f", second, "--manifest", live, "--kubernetes-version", "1.34"),
        ("render", "-f", changed),  # no manifest
        ("render", "-f", changed, "--manifest", KUBEADM),
        ("render", "-f", str(pod_patch), "--manifest", live),
        ("render", "-f", str(pod_patch)),
        ("lint", "-f", changed, "--manifest", KUBEADM),
        ("lint", "-f", str(pod_patch), "--manifest", live),
    ):
        ran = run(*words)
        assert ran.code == 2, words
        assert any(code in ran.err + ran.out for code in ("P009", "V002", "Error:")), ran.err
