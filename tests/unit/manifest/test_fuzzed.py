"""Manifests found by mutation, with the verdict of the kubelet's own code (fixtures/oracles).

What it refuses, or silently drops a field of, must be an error here; what it runs and we do not
must have a code whose entry gives the reason.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.manifest.document import read_manifest
from kschedpatch.core.manifest.quantity import quantity
from kschedpatch.core.manifest.validate import validate
from kschedpatch.model.codes import CODES

FIXTURES = Path(__file__).parents[3] / "fixtures" / "manifests"
RECORDED: list[dict[str, Any]] = json.loads((FIXTURES / "fuzzed.json").read_text("utf-8"))


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["name"][:60])
def test_we_are_as_strict_as_the_kubelet(case: dict[str, Any]) -> None:
    reading = read_manifest(case["manifest"].encode("utf-8", "surrogatepass"), "m.yaml")
    errors = [finding for finding in validate(reading, 34) if finding.is_error]
    verdict = case["kubelet"]
    if not verdict["ok"] or verdict.get("unknownFields"):
        assert errors, verdict
    else:
        assert all(CODES[finding.code].runs for finding in errors), errors


CRASHES = {
    "args without a command": "    args: [sh, -c, x]\n",
    "a port that is no number": "    command: [kube-scheduler, --secure-port=²]\n",
    "a port of many digits": f"    command: [kube-scheduler, --secure-port={'9' * 5000}]\n",
    "a list as probe path": "    livenessProbe: {httpGet: {path: [], port: 1}}\n",
    "a number for capabilities":
        "    securityContext: {allowPrivilegeEscalation: false, capabilities: {add: 5}}\n",
    "a huge quantity": "    resources: {requests: {cpu: 1e1000000, a/b: 1e400}}\n",
    "a long quantity": f"    resources: {{requests: {{a/b: '{'9' * 5000}'}}}}\n",
    "a number for mounts": "    volumeMounts: 5\n    env: true\n    ports: x\n",
}  # fmt: skip


@pytest.mark.parametrize("lines", CRASHES.values(), ids=CRASHES)
def test_odd_values_are_findings_not_crashes(lines: str) -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: kube-scheduler, namespace: kube-system}\n"
        f"spec:\n  containers:\n  - name: kube-scheduler\n    image: a/b:v1\n{lines}"
    )
    assert any(finding.is_error for finding in validate(read_manifest(text.encode(), "m.yaml")))


@pytest.mark.parametrize(
    ("text", "value"),
    [("100m", "0.1"), ("1Gi", "1073741824"), ("1E", "1e18"), ("1E5", "100000"), (".5", "0.5"),
     ("5.", "5"), ("+1", "1"), (None, "0"), (0.5, "0.5")],
)  # fmt: skip
def test_quantities(text: object, value: str) -> None:
    assert quantity(text) == Decimal(value)


@pytest.mark.parametrize("text", ["1e5k", "1ki", "1.5GiB", "", ".", "1.5.2", "1e1000", "9" * 50])
def test_no_quantities(text: str) -> None:
    assert quantity(text) is None
