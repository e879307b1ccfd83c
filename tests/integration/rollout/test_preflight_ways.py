"""The trial run where there is no ctr: through podman, docker or the running container."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Event, Phase
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.rollout import FailureReason
from kschedpatch.model.sources import source_file
from kschedpatch.sandbox.sandbox import Sandbox
from tests.integration.rollout.rig import CONFIG, SETTINGS, SPEED, Rig, assert_clean, lives, patch

_TRIED = SETTINGS._replace(preflight=True)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Sandbox(tmp_path, nodes=1, speed=SPEED) as sandbox:
        # A ctr that knows no images, as on a node whose runtime is another one.
        (sandbox.nodes[0].root / "bin/ctr").unlink()
        _tool(sandbox, "ctr", "exit 1")
        _tool(sandbox, "podman", "exit 125")
        _tool(sandbox, "docker", "exit 1")
        yield Rig(sandbox)


def _tool(sandbox: Sandbox, name: str, body: str) -> Path:
    path = sandbox.nodes[0].root / "bin" / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["podman", "docker"])
def test_by_the_tool_that_has_the_image(rig: Rig, tmp_path: Path, name: str) -> None:
    said = tmp_path / "said"
    # It is asked for the image, then runs it; the words of each call are kept.
    script = (
        f'echo "$@" >>{said}; [ "$1" != run ] || {{ echo "Error: unknown flag: --x"; exit 1; }}'
    )
    _tool(rig.sandbox, name, script)
    alive = lives(rig.node)
    result = rig.apply(patch(4, rest=CONFIG), _TRIED)
    assert result.exit_code == exitcodes.REFUSED
    assert result.failure is not None
    assert result.failure.reason is FailureReason.PREFLIGHT
    assert "unknown flag: --x" in result.failure.detail
    assert lives(rig.node) == alive
    asked, ran, removed = said.read_text().splitlines()
    assert asked.startswith("image inspect registry.k8s.io/kube-scheduler:")
    assert ran.startswith("run --rm --pull=never --network none --name kschedpatch-preflight-")
    assert "scheduler-config.yaml" in ran
    assert ran.count(",readonly") == ran.count("--mount ") > 0
    assert ran.endswith("--write-config-to=/dev/stdout --secure-port=0")
    assert removed.startswith("rm -f kschedpatch-preflight-")
    assert_clean(rig)


def test_in_the_running_container(rig: Rig) -> None:
    def with_unknown_field(plan: FleetPlan) -> FleetPlan:
        [node] = plan.nodes
        assert node.generation is not None
        files = tuple(
            one._replace(
                file=source_file(one.name, "", (one.file.content or b"") + b"strange: 1\n")
            )
            for one in node.generation.files
        )
        return plan._replace(
            nodes=(node._replace(generation=node.generation._replace(files=files)),)
        )

    alive = lives(rig.node)
    result = rig.apply(patch(4, rest=CONFIG), _TRIED, edited=with_unknown_field)
    assert result.exit_code == exitcodes.REFUSED, result
    assert result.failure is not None
    assert result.failure.reason is FailureReason.PREFLIGHT
    assert "strange" in result.failure.detail
    assert lives(rig.node) == alive
    assert rig.apply(patch(4, rest=CONFIG), _TRIED).exit_code == exitcodes.OK
    rig.rollback("original")
    assert_clean(rig)


def test_a_proof_that_is_not_possible_is_said(rig: Rig) -> None:
    """Another image can't be tried in the container of the old one."""
    rig.node.add_image("example.org/own:v1")
    told: list[str] = []

    def listener(event: Event) -> None:
        if event.phase is Phase.PREFLIGHT:
            told.append(event.text)

    text = patch(4, scheduler="image: example.org/own:v1")
    assert rig.apply(text, _TRIED, listener=listener).exit_code == exitcodes.OK
    assert any("this proof is left out" in text for text in told)
    rig.rollback("original")
    assert_clean(rig)
