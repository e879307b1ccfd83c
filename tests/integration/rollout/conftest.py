"""Sandboxes of one and of three nodes; the tests of a module share them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedpatch.sandbox.sandbox import Sandbox
from tests.integration.rollout.desk import Desk, sat_down
from tests.integration.rollout.rig import SPEED, Rig, assert_clean


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Sandbox(tmp_path_factory.mktemp("one"), nodes=1, speed=SPEED) as sandbox:
        yield Rig(sandbox)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Sandbox(tmp_path_factory.mktemp("three"), nodes=3, speed=SPEED) as sandbox:
        yield Rig(sandbox)


@pytest.fixture
def desk(three: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    yield sat_down(three, tmp_path, monkeypatch)
    three.rollback("original")
    assert_clean(three)
