"""A few injections of the fault matrix, and that it can go red. ``make faults`` makes all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unittest.mock import patch as replaced

import pytest

from kschedpatch.node.quoting import quote
from kschedpatch.node.script import agent_script
from kschedpatch.sandbox.sandbox import Sandbox
from tests.faults import matrix as matrix_module
from tests.faults import operators
from tests.faults.faults import (
    Fault,
    Heal,
    Scene,
    operator_killed,
    process_killed,
    rebooted,
)
from tests.faults.matrix import BETWEEN_CALLS, ON_NODE, Matrix
from tests.integration.rollout.rig import SPEED

KILLED = Fault("operator killed", operator_killed)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    with Sandbox(tmp_path_factory.mktemp("matrix"), nodes=1, speed=SPEED) as sandbox:
        yield Matrix(sandbox)


@pytest.mark.sample
@pytest.mark.parametrize(
    "fault",
    [KILLED, Fault("node rebooted", rebooted, ends_pods=True), Fault("killed", process_killed)],
    ids=lambda f: f.name,
)
def test_between_the_two_renames(matrix: Matrix, fault: Fault) -> None:
    """The old manifest is away, the new one not there yet: the worst moment."""
    done = matrix.inject(fault, ON_NODE, 1, "before", only="ln")
    assert done.hit.startswith("ln ")
    assert done.violations == (), done


def test_killed_after_the_proof(matrix: Matrix) -> None:
    done = matrix.inject(KILLED, BETWEEN_CALLS, 1, "after", only="watch")
    assert done.hit.startswith("watch")
    assert done.violations == (), done


def nobody_left(scene: Scene) -> Heal:
    """Operator and verb are killed together: only the dead man could help."""
    scene.way.kill()
    return process_killed(scene)


_IDLE = """#!/bin/sh
[ "$1" = watch ] || exit 0
echo $$ >"$KSCHEDPATCH_ROOT/var/lib/kschedpatch/txn/armed"
while :; do sleep 1; done
"""


def test_without_the_dead_man_the_matrix_goes_red(tmp_path_factory: pytest.TempPathFactory) -> None:
    lame_script = re.sub(
        r"(?ms)^KSP_RESTORE=.*?^(?=ksp_main)", f"KSP_RESTORE={quote(_IDLE)}\n", agent_script()
    )
    with (
        Sandbox(tmp_path_factory.mktemp("red"), nodes=1, speed=20) as sandbox,
        replaced.object(operators, "agent_script", lambda: lame_script),
        replaced.object(matrix_module, "MARGIN", 30.0),
    ):
        lame = Matrix(sandbox)
        done = lame.inject(Fault("killed", nobody_left), ON_NODE, 1, "before", only="ln")
    assert any("no scheduler is ready" in found for found in done.violations), done
