"""Imports go downwards only; the core is free of what reaches out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "kschedpatch"

# From the top down: a layer may import itself and what stands below it.
LAYERS = ("cli", "sandbox", "report", "rollout", "cluster", "node", "inputs", "core", "model")
FORBIDDEN = {
    "core": {"paramiko", "rich", "subprocess", "socket", "typer"},
    "model": {"paramiko", "rich", "subprocess", "socket", "typer", "ruamel"},
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str | None:
    first = path.relative_to(PACKAGE).parts[0]
    return first if first in LAYERS else None


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


def upward_imports(path: Path) -> list[str]:
    layer = layer_of(path)
    if layer is None:
        return []
    allowed = set(LAYERS[LAYERS.index(layer) :])
    found = []
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "kschedpatch" and len(parts) > 1 and parts[1] in LAYERS:
            if parts[1] not in allowed:
                found.append(name)
        elif parts[0] in FORBIDDEN.get(layer, set()):
            found.append(name)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_import_goes_upwards(path: Path) -> None:
    assert upward_imports(path) == []


def test_every_package_has_its_place_in_the_order() -> None:
    packages = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()}
    assert packages <= set(LAYERS)


def test_the_check_itself_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "core" / "bad.py"
    module.parent.mkdir()
    module.write_text("import subprocess\nfrom kschedpatch.cli import app\n")
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    assert upward_imports(module) == ["subprocess", "kschedpatch.cli"]


@pytest.mark.parametrize("layer", ["core", "model", "inputs"])
def test_only_the_layers_above_it_reach_for_a_node(
    layer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / layer / "bad.py"
    module.parent.mkdir()
    module.write_text("from kschedpatch.node.session import Session\n")
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    assert upward_imports(module) == ["kschedpatch.node.session"]
