"""The CI examples: their very commands, in their order, on simulated nodes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.integration.sandbox.standing import Bench, standing_sandbox

CI = Path(__file__).parents[3] / "integrations/ci"
JOBS = ("lint", "plan", "apply")


def read(name: str) -> dict[str, Any]:
    body: dict[str, Any] = YAML(typ="safe").load(CI / name)
    return body


def of_github(job: str) -> list[str]:
    steps = read("github-actions.yaml")["jobs"][job]["steps"]
    return [step["run"] for step in steps if "run" in step]


def of_gitlab(job: str) -> list[str]:
    script: list[str] = read("gitlab-ci.yaml")[job]["script"]
    return script


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with standing_sandbox(tmp_path_factory.mktemp("ci"), 3) as made:
        checkout = made.directory / "scheduler"
        shutil.copytree(made.sandbox / "gpumps", checkout / "gpumps")
        shutil.copy(made.sandbox / "ssh_config", checkout)
        shutil.copy(made.sandbox / "gpumps.yaml", checkout / "patch.yaml")
        made.environment.update(read("github-actions.yaml")["env"])
        yield made


def test_both_run_the_same_commands_on_the_same_nodes() -> None:
    assert [of_gitlab(job) for job in JOBS] == [of_github(job) for job in JOBS]
    assert read("gitlab-ci.yaml")["variables"] == read("github-actions.yaml")["env"]


def test_nobody_applies_without_being_let() -> None:
    github = read("github-actions.yaml")["jobs"]
    assert github["apply"]["needs"] == "plan"
    assert github["apply"]["environment"] == "production"
    assert github["apply"]["concurrency"]["cancel-in-progress"] is False
    assert "push" in github["plan"]["if"]
    gitlab = read("gitlab-ci.yaml")["apply"]
    assert (gitlab["needs"], gitlab["rules"][0]["when"]) == (["plan"], "manual")
    assert (gitlab["environment"], gitlab["interruptible"]) == ("production", False)


def test_from_pull_request_to_cluster(bench: Bench) -> None:
    before = [bench.manifest(node).read_bytes() for node in ("cp1", "cp2", "cp3")]
    for command in (*of_github("lint"), *of_github("plan")):
        ran = bench.types(command)
        assert ran.returncode == 0, (command, ran.stdout, ran.stderr)
    assert "+    image: registry.sandbox/kube-scheduler-gpumps:v1.34.11" in ran.stdout
    assert [bench.manifest(node).read_bytes() for node in ("cp1", "cp2", "cp3")] == before

    apply, verify = of_github("apply")
    ran = bench.types(apply)
    assert ran.returncode == 0, ran.stderr
    events = [json.loads(line) for line in ran.stderr.splitlines()]
    assert {event["kind"] for event in events} == {"Event"}
    assert {"switch", "confirm"} <= {event["phase"] for event in events}
    result = json.loads((bench.directory / "result.json").read_text())
    assert (result["exitCode"], result["changed"]) == (0, True)
    assert bench.types(verify).returncode == 0


def test_a_plan_is_refused_when_a_node_has_changed_since(bench: Bench) -> None:
    patch = bench.directory / "scheduler/patch.yaml"
    patch.write_text(
        patch.read_text().replace("  scheduler:\n", "  scheduler:\n    args: {v: '4'}\n")
    )
    (plan,) = of_github("plan")
    ran = bench.types(plan)
    assert ran.returncode == 0, ran.stderr
    assert "+    - --v=4" in ran.stdout
    manifest = bench.manifest("cp2")
    manifest.write_text(manifest.read_text() + "# by hand\n")
    before = [bench.manifest(node).read_bytes() for node in ("cp1", "cp2", "cp3")]
    ran = bench.types(of_github("apply")[0])
    assert ran.returncode == 3, ran.stderr
    result = json.loads((bench.directory / "result.json").read_text())
    errors = [found["code"] for found in result["findings"] if found["severity"] == "error"]
    assert (errors, result["changed"]) == (["N302"], False)
    assert [bench.manifest(node).read_bytes() for node in ("cp1", "cp2", "cp3")] == before
    page = (CI.parents[1] / "docs/how-to/ansible-and-ci.md").read_text()
    assert "exit code 3 (finding N302)" in page
