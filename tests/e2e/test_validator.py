"""Our manifest validator against a real kubelet, on manifests that harm nothing.

What makes the kubelet refuse a file, or ignore a field in it, our validator must have refused;
what it takes, our validator may call an error only with a reason that the reference page gives.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kschedpatch.core.manifest.document import read_manifest
from kschedpatch.core.manifest.validate import validate
from kschedpatch.model.codes import CODES
from kschedpatch.model.finding import Finding

from .cluster.cluster import Cluster
from .cluster.trials import Trial, dropped_field, try_manifests, under_name

FIXTURES = Path(__file__).parents[2] / "fixtures" / "manifests"
# The name is changed for the trial; a mirror's annotation and an end in the past confuse the
# kubelet about its own pods, which is their point and would outlive the trial.
_LEFT_OUT = re.compile(rb"config\.mirror|deletionTimestamp|1e[0-9]{4}")
_ROUND = 24


def candidates() -> dict[str, bytes]:
    """Manifests by a name that may be a pod's: found by mutation, and with one mistake each."""
    found: dict[str, bytes] = {}
    for number, case in enumerate(json.loads((FIXTURES / "fuzzed.json").read_text("utf-8"))):
        data = case["manifest"].encode("utf-8", "surrogatepass")
        found[f"trial-fuzzed-{number}"] = data
    for path in sorted(FIXTURES.glob("broken/*.yaml")):
        found[f"trial-{path.stem}"] = path.read_bytes()
    usable: dict[str, bytes] = {}
    for name, data in found.items():
        if _LEFT_OUT.search(data):
            continue
        try:
            usable[name] = under_name(data, name)
        except ValueError:
            continue  # no name to change, so nothing that could be tried without harm
    return usable


def errors_of(manifest: bytes) -> list[Finding]:
    """Our errors, but for the pod's name, which is not the scheduler's here."""
    findings = validate(read_manifest(manifest, "m.yaml"), 34)
    return [finding for finding in findings if finding.is_error and finding.code != "M002"]


def test_the_validator_is_as_strict_as_the_kubelet(cluster: Cluster) -> None:
    if cluster.version.minor != "1.34":
        pytest.skip("the manifests and the rules that they try are those of 1.34")
    manifests = candidates()
    assert len(manifests) >= 60
    node = cluster.nodes[0]
    names = list(manifests)
    accepted_by_us_alone: list[str] = []
    refused_without_reason: list[str] = []
    taken = 0
    for start in range(0, len(names), _ROUND):
        batch = names[start : start + _ROUND]
        trials = [Trial(name, manifests[name]) for name in batch]
        for verdict in try_manifests(node, cluster.api, trials, settle=3):
            errors = errors_of(manifests[verdict.name])
            taken += verdict.accepted
            if verdict.refused and not errors:
                accepted_by_us_alone.append(f"{verdict.name}: {verdict.journal[:1]}")
            if verdict.accepted and dropped_field(manifests[verdict.name], verdict) and not errors:
                accepted_by_us_alone.append(f"{verdict.name}: a field was dropped")
            unfounded = [f.code for f in errors if not CODES[f.code].runs]
            if (
                verdict.accepted
                and unfounded
                and not dropped_field(manifests[verdict.name], verdict)
            ):
                refused_without_reason.append(f"{verdict.name}: {unfounded}")
    # A round in which everything is refused, or nothing, would prove little.
    assert 30 <= taken <= len(names) - 60
    assert accepted_by_us_alone == []
    assert refused_without_reason == []
