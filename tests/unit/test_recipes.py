"""The recipes: complete, understandable, and right for every minor that they are for."""

from __future__ import annotations

import json
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
MINORS = range(22, 37)

# What a recipe needs that a minor does not have, with the code that says so.
TOO_OLD = {("gpu-admission", 22): "C019"}


def test_all_five_systems_are_there() -> None:
    assert set(NAMES) == {"gpumps", "namescore", "gpu-admission", "bin-packing", "alnair"}
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
@pytest.mark.parametrize("name", NAMES)
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
