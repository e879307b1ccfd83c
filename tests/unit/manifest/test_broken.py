"""Manifests with one mistake each, as people make them: the code that names it, and its line.

fixtures/manifests/kubelet-verdicts.json records what the kubelet's own code says to each.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kschedpatch.core.manifest.document import read_manifest
from kschedpatch.core.manifest.validate import validate
from kschedpatch.model.codes import CODES
from kschedpatch.model.finding import Finding

FIXTURES = Path(__file__).parents[3] / "fixtures" / "manifests"
VERDICTS: dict[str, str] = json.loads((FIXTURES / "kubelet-verdicts.json").read_text("utf-8"))

# File → the error that must be among the findings.
EXPECTED = {
    "anchor-alias": "Y010",
    "bool-annotation": "M004",
    "bool-as-string": "M004",
    "bool-flag-split": "M034",
    "configmap-volume": "M013",
    "deployment": "M001",
    "duplicate-key": "Y008",
    "duplicate-mount-path": "M009",
    "duplicate-volume-name": "M008",
    "empty": "Y014",
    "env-number": "M004",
    "field-at-wrong-level": "M003",
    "flag-without-dashes": "M034",
    "flags-in-one-string": "M022",
    "host-path-backsteps": "M010",
    "host-path-type": "M011",
    "image-missing": "M005",
    "image-of-other-minor": "M014",
    "image-reference": "M011",
    "int-as-string": "M004",
    "ipv6-unquoted": "M004",
    "kind-list": "M001",
    "kubectl-get-output": "M035",
    "list-at-top": "Y016",
    "merge-conflict": "Y007",
    "merge-key": "Y010",
    "misspelt-field": "M003",
    "mount-path-colon": "M010",
    "mount-without-volume": "M007",
    "no-break-space": "Y007",
    "no-namespace": "M002",
    "only-comments": "Y014",
    "other-component": "M002",
    "port-clash": "M012",
    "probe-other-port-named": "M014",
    "probe-other-port": "M014",
    "relative-host-path": "M010",
    "relative-mount-path": "M010",
    "removed-flag": "M019",
    "renamed-pod": "M002",
    "restart-policy": "M011",
    "scheduler-config-as-manifest": "M001",
    "secret-env": "M013",
    "secret-volume": "M013",
    "service-account": "M013",
    "tab-indentation": "Y007",
    "tag": "Y009",
    "template-left": "M004",
    "timeout-as-duration": "M004",
    "trailing-tab": "Y007",
    "truncated": "M007",
    "two-containers-one-name": "M008",
    "two-pods": "Y013",
    "typographic-quotes": "M034",
    "unterminated-quote": "Y007",
    "upper-case-volume-name": "M006",
    "volume-name-underscore": "M006",
    "volume-without-name": "M005",
    "wrapped-command": "M021",
    "wrong-indentation": "M003",
    "wrong-namespace": "M002",
    "yes-annotation": "M004",
}


def findings_for(name: str) -> tuple[Finding, ...]:
    data = (FIXTURES / "broken" / f"{name}.yaml").read_bytes()
    return validate(read_manifest(data, f"{name}.yaml"))


def test_every_broken_manifest_is_in_the_table() -> None:
    assert {path.stem for path in (FIXTURES / "broken").glob("*.yaml")} == set(EXPECTED)


@pytest.mark.parametrize(("name", "code"), EXPECTED.items(), ids=EXPECTED)
def test_the_mistake_is_named(name: str, code: str) -> None:
    errors = [finding for finding in findings_for(name) if finding.is_error]
    assert code in [finding.code for finding in errors]
    lines = (FIXTURES / "broken" / f"{name}.yaml").read_bytes().count(b"\n") + 1
    for finding in errors:
        assert finding.file == f"{name}.yaml"
        assert finding.line <= lines
        assert finding.line > 0 or finding.code == "Y014"


@pytest.mark.parametrize("name", EXPECTED)
def test_where_the_kubelet_runs_it_the_reference_page_gives_our_reason(name: str) -> None:
    if VERDICTS.get(f"{name}.yaml", "refused"):
        return  # the kubelet refuses it as well
    errors = [finding for finding in findings_for(name) if finding.is_error]
    stricter = [finding.code for finding in errors if CODES[finding.code].runs]
    crashes = [finding.code for finding in errors if "exits" in CODES[finding.code].why]
    assert stricter or crashes


SOUND = sorted((*FIXTURES.glob("kubeadm/*.yaml"), *FIXTURES.glob("byhand/*.yaml")))
# By hand and sound for the kubelet, but not for us.
REFUSED_BY_HAND = {
    "bom.yaml": ["Y003"],
    "windows-line-ends.yaml": ["Y004"],
    "rbac-appended.yaml": ["Y013"],
}


@pytest.mark.parametrize("path", SOUND, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_sound_manifests_have_no_errors(path: Path) -> None:
    findings = validate(read_manifest(path.read_bytes(), path.name))
    codes = [finding.code for finding in findings if finding.is_error]
    assert codes == REFUSED_BY_HAND.get(path.name, [])
