"""An operator in a process of its own, and real signals."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.sandbox.sandbox import Sandbox
from tests.integration.rollout.rig import (
    FULL,
    SPEED,
    Rig,
    patch,
    skip_to_deadline,
    stray_files,
    transaction,
)

REPOSITORY = Path(__file__).parents[3]
SWITCHING = "switch progress the old pod ends"


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Sandbox(tmp_path_factory.mktemp("signals"), nodes=1, speed=SPEED) as sandbox:
        yield Rig(sandbox)


CASES = [
    (signal.SIGKILL, SWITCHING),
    (signal.SIGTERM, "watch started"),
    (signal.SIGHUP, "arm started"),
    (signal.SIGINT, SWITCHING),
    (signal.SIGKILL, "watch started"),
]


@pytest.mark.parametrize(
    "number, at",
    CASES if FULL else CASES[:3],
    ids=lambda value: value.name if isinstance(value, signal.Signals) else value[:6],
)
def test_a_signal_ends_it_with_the_old_scheduler_ready(
    rig: Rig, number: signal.Signals, at: str
) -> None:
    before = rig.manifests()
    environment = [f"{key}={value}" for key, value in rig.node.environment().items()]
    words = ["-m", "tests.faults.operatorprocess", rig.node.name, str(rig.fresh_v())]
    with subprocess.Popen(
        [sys.executable, *words, *environment],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    ) as operator:
        assert operator.stdout is not None
        for line in operator.stdout:
            if line.strip().startswith(at):
                operator.send_signal(number)
                break
        operator.stdout.read()
        code = operator.wait(90)
    if number is signal.SIGKILL:
        assert code == -signal.SIGKILL
        assert rig.node.wait((transaction(rig.node) / "switched").exists, 60)
        skip_to_deadline(rig.node)
    else:
        assert code == exitcodes.INTERRUPTED
    assert rig.node.wait(lambda: not transaction(rig.node).exists(), 90)
    assert rig.manifests() == before
    assert stray_files(rig.node) == []
    assert rig.node.wait_ready()


def test_and_the_next_run_works(rig: Rig) -> None:
    assert rig.apply(patch(rig.fresh_v())).exit_code == exitcodes.OK
