"""The recipes: complete, understandable, and right for every minor that they are for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.inputs.recipes import all_recipes
from kschedpatch.report.reference import schema_text
from tests.unit.command_line import run

MANIFESTS = Path(__file__).parents[2] / "fixtures" / "manifests" / "kubeadm"
NAMES = [recipe.name for recipe in all_recipes()]
DEPLOYED = {"gpumps-deployment", "namescore-second", "bin-packing-second"}
"""Those whose target is a Deployment."""
STATIC = [name for name in NAMES if name not in DEPLOYED]
MINORS = range(22, 37)

# What a recipe needs that a minor does not have, with the code that says so.
TOO_OLD = {("gpu-admission", 22): "C019"}


def test_all_five_systems_are_there() -> None:
    assert set(STATIC) == {"gpumps", "namescore", "gpu-admission", "bin-packing", "alnair"}
    assert set(NAMES) >= DEPLOYED
    listed = run("recipes").out
    for name in NAMES:
        assert f"{name} " in listed
    assert max(map(len, listed.splitlines())) <= 110


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_takes_it(name: str) -> None:
    recipe = next(recipe for recipe in all_recipes() if recipe.name == name)
    value = value_of(read(recipe.path.read_bytes()).documents[0])
    validator = jsonschema.Draft202012Validator(json.loads(schema_text()))
    assert list(validator.iter_errors(value)) == []


@pytest.mark.parametrize("name", NAMES)
def test_init_writes_what_lint_accepts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("init", name)
    assert ran.code == 0
    assert ran.out.splitlines()[0] == f"{name}.yaml"
    linted = run("lint", "-f", f"{name}.yaml")
    assert linted.code == 0, linted.out
    assert " error " not in linted.out
    text = Path(f"{name}.yaml").read_text("utf-8")
    comments = [line for line in text.splitlines() if line.strip().startswith("#")]
    assert len(comments) >= 8
    assert max(map(len, text.splitlines())) <= 100
    again = run("init", name)
    assert again.code == 2
    assert "exists already" in again.err


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("name", STATIC)
def test_it_renders_for_every_minor(name: str, minor: int) -> None:
    manifest = str(MANIFESTS / f"v1.{minor}.yaml")
    ran = run("render", "--recipe", name, "--manifest", manifest, "-o", "json")
    document = json.loads(ran.out)
    errors = [f["code"] for f in document["findings"] if f["severity"] == "error"]
    expected = TOO_OLD.get((name, minor))
    assert errors == ([expected] if expected else [])
    if not expected:
        config = document["generation"]["files"][0]["content"]
        wanted = "v1beta2" if minor == 22 else "v1beta3" if minor < 25 else "v1"
        assert config.startswith(f"apiVersion: kubescheduler.config.k8s.io/{wanted}\n")


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("name", sorted(DEPLOYED - {"gpumps-deployment"}))
def test_a_second_scheduler_renders_for_every_minor(name: str, minor: int) -> None:
    words = ("--kubernetes-version", f"1.{minor}.0", "-o", "json")
    document = json.loads(run("render", "--recipe", name, *words).out)
    errors = [f["code"] for f in document["findings"] if f["severity"] == "error"]
    assert errors == []
    [files] = [item for item in document["objects"] if item["kind"] == "ConfigMap"]
    [config] = files["data"].values()
    wanted = "v1beta2" if minor == 22 else "v1beta3" if minor < 25 else "v1"
    assert config.startswith(f"apiVersion: kubescheduler.config.k8s.io/{wanted}\n")


def test_the_names_of_the_write_up_are_there() -> None:
    words = ("--kubernetes-version", "1.34.2", "-o", "json")
    packing = json.loads(run("render", "--recipe", "bin-packing-second", *words).out)
    pod = packing["deployment"]["spec"]["template"]
    assert pod["metadata"]["labels"]["component"] == "my-custom-kube-scheduler"
    [container] = pod["spec"]["containers"]
    assert set(container["command"][1:]) == {
        "--v=5",
        "--leader-elect=false",
        "--config=/etc/kubernetes/my-scheduler-config.yaml",
    }
    [files] = [item for item in packing["objects"] if item["kind"] == "ConfigMap"]
    assert files["metadata"]["name"].startswith("my-scheduler-config-")
    assert list(files["data"]) == ["my-scheduler-config.yaml"]
    scores = json.loads(run("render", "--recipe", "namescore-second", *words).out)
    [role] = [item for item in scores["objects"] if item["kind"] == "Role"]
    assert ["my-scheduler"] in [rule.get("resourceNames") for rule in role["rules"]]


def uncommented(text: str) -> str:
    """The YAML that stands in comments, switched on; prose stays what it is."""
    return re.sub(r"^( *)# ((?: *- | *\w+:).*)$", r"\1\2", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "brings"),
    [
        ("bin-packing", "StickyJob"),
        ("namescore", "suffixes"),
        ("gpumps", "annotation"),
        ("gpu-admission", "bindVerb"),
    ],
)
def test_what_stands_in_comments_is_right_as_well(
    name: str, brings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", name)
    path = Path(f"{name}.yaml")
    text = uncommented(path.read_text("utf-8"))
    assert text != path.read_text("utf-8")
    path.write_text(text, "utf-8")
    manifest = str(MANIFESTS / "v1.34.yaml")
    document = json.loads(run("render", "-f", str(path), "--manifest", manifest, "-o", "json").out)
    assert [f for f in document["findings"] if f["severity"] == "error"] == []
    assert brings in document["generation"]["files"][0]["content"]


def test_the_sticky_plugin_gets_its_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", "bin-packing")
    path = Path("bin-packing.yaml")
    path.write_text(uncommented(path.read_text("utf-8")), "utf-8")
    patch = value_of(read(path.read_bytes()).documents[0])
    assert patch["spec"]["objects"] == ["./bin-packing/stickyjob-crd.yaml"]
    assert {
        r: tuple(rule["verbs"])
        for rule in patch["spec"]["rbac"]["rules"]
        for r in rule["resources"]
    } == {
        "stickyjobs": ("get", "list", "watch"),
        "stickyjobs/status": ("get", "update", "patch"),
    }
