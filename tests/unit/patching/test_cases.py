"""Patches against manifests, one small file a case: what is asked, which lines change.

A case (cases/*.yaml) has
  manifest   a file below fixtures/manifests, or a text of its own
  spec       the patch's spec
  files      local files that the patch names: path → content
  version    the node's Kubernetes version, where the image does not tell it
  changes    the lines that go (-) and come (+); the annotations of the tool are left out
  generated  files of the generation: name → content
  rbac       titles of the RBAC objects
  codes      the codes of all findings
"""

from __future__ import annotations

import difflib
import hashlib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from kschedpatch.core.manifest.document import read_manifest
from kschedpatch.core.planner import plan_static_pod
from kschedpatch.model.kubeversion import parse_version
from kschedpatch.model.plan import Plan
from tests.unit.patches import patch_input

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
FIXTURES = Path(__file__).parents[3] / "fixtures" / "manifests"


OUR_ANNOTATIONS = ("kschedpatch.io/base", "kschedpatch.io/generation", "kschedpatch.io/patch")


def load(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = YAML(typ="safe", pure=True).load(path.read_text("utf-8"))
    return case


def plan_for(case: dict[str, Any]) -> Plan:
    text = case["manifest"]
    data = text.encode() if "\n" in text else (FIXTURES / text).read_bytes()
    reading = read_manifest(data, "kube-scheduler.yaml")
    assert reading.manifest is not None, reading.findings
    version = parse_version(case["version"]) if "version" in case else None
    given = patch_input(case["spec"], name="case", files=case.get("files"))
    return plan_static_pod(given, reading.manifest, version=version)


def changed_lines(plan: Plan) -> list[str]:
    lines = difflib.unified_diff(
        plan.before.splitlines(), plan.after.splitlines(), n=0, lineterm=""
    )
    changes = [line for line in list(lines)[2:] if not line.startswith("@@")]
    ours = [line for line in changes if not any(key in line for key in OUR_ANNOTATIONS)]
    return [line for line in ours if line.lstrip("+ ") != "annotations:"]


def annotations_of(plan: Plan) -> dict[str, str]:
    manifest = read_manifest(plan.after.encode(), "patched").manifest
    assert manifest is not None
    return {key: value for key, value in manifest.annotations.items() if key in OUR_ANNOTATIONS}


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_case(path: Path) -> None:
    case = load(path)
    plan = plan_for(case)
    generation = plan.generation.id if plan.generation else "GENERATION"
    changes = [line.replace(generation, "GENERATION") for line in changed_lines(plan)]
    assert [finding.code for finding in plan.findings] == case.get("codes", [])
    assert changes == case.get("changes", "").splitlines()
    files = plan.generation.files if plan.generation else ()
    generated = {item.name: (item.file.content or b"").decode() for item in files}
    assert generated == case.get("generated", {})
    assert [item.title for item in plan.rbac] == case.get("rbac", [])
    if plan.after != plan.before:
        assert annotations_of(plan) == {
            "kschedpatch.io/base": "sha256:" + hashlib.sha256(plan.before.encode()).hexdigest(),
            "kschedpatch.io/patch": "case",
            **({"kschedpatch.io/generation": plan.generation.id} if plan.generation else {}),
        }


def test_there_are_cases() -> None:
    assert len(CASES) >= 25
