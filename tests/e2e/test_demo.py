"""The demo on real nodes and in the sandbox: the same outcomes, or the sandbox is no model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kschedpatch.sandbox.demo import sandbox_stage
from kschedpatch.sandbox.demoplay import Stage, Stood
from kschedpatch.sandbox.demosteps import STEPS, Manifests, Step

from .cluster import demo
from .cluster.cluster import Cluster
from .cluster.console import say
from .realstage import real_stage
from .tool import standing, traces

pytestmark = pytest.mark.three_nodes

PLACEHOLDER = "P010"
"""The rig's registry has the name that stands in recipes for one's own."""


class Outcome(NamedTuple):
    """What somebody who runs the step has of it. Who leads, and the times, are the cluster's."""

    title: str
    code: int
    stands: Manifests | None
    kind: str
    changed: bool
    nodes: list[str]
    """What became of them, without their names: the leader is another one each time."""
    failure: tuple[str, str] | None
    checks: list[tuple[str, str]]
    """What was checked, and how it stands."""
    codes: list[str]


@pytest.mark.usefixtures("untouched_nodes")
def test_the_demo_comes_to_the_same_on_real_nodes(cluster: Cluster, tmp_path: Path) -> None:
    if cluster.version.release != demo.demo_release():
        pytest.skip(f"the demo's schedulers are of Kubernetes {demo.demo_release()}")
    before = {node.name: standing(node) for node in cluster.nodes}
    with real_stage(cluster, tmp_path) as stage:
        real = played(stage)
    for node in cluster.nodes:
        assert standing(node).uid == before[node.name].uid
        assert traces(node) == []
    with sandbox_stage() as stage_of_sandbox:
        simulated = played(stage_of_sandbox)
    for one, other, step in zip(real, simulated, STEPS, strict=True):
        assert one == other
        assert (one.code, one.stands) == (step.code, step.stands)


def played(stage: Stage) -> list[Outcome]:
    stood = Stood(stage)
    return [_outcome(step, stage, stood) for step in STEPS]


def _outcome(step: Step, stage: Stage, stood: Stood) -> Outcome:
    ran = subprocess.run(
        [sys.executable, "-m", "kschedpatch", *step.words, "-o", "json"],
        cwd=stage.directory,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **stage.environment},
        timeout=600,
    )
    assert ran.stdout, ran.stderr
    body: dict[str, Any] = json.loads(ran.stdout)
    failure = body.get("failure")
    outcome = Outcome(
        step.title,
        ran.returncode,
        stood.after(step),
        body["kind"],
        body["changed"],
        sorted(str(node.get("outcome", node.get("changed"))) for node in body.get("nodes", [])),
        (failure["phase"], failure["reason"]) if failure else None,
        sorted({(check["check"], check["state"]) for check in body.get("checks", [])}),
        sorted({finding["code"] for finding in body["findings"]} - {PLACEHOLDER}),
    )
    say(f"{outcome}"[:1000])
    if outcome.code != step.code:
        say(ran.stdout + ran.stderr)
    return outcome
