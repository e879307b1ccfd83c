"""Sandboxes of one and of three nodes; the tests of a module share them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kschedpatch.sandbox.sandbox import Sandbox
from tests.integration.rollout.rig import SPEED, Rig


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Sandbox(tmp_path_factory.mktemp("one"), nodes=1, speed=SPEED) as sandbox:
        yield Rig(sandbox)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Sandbox(tmp_path_factory.mktemp("three"), nodes=3, speed=SPEED) as sandbox:
        yield Rig(sandbox)
