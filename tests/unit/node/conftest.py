"""A node in a directory, and the script on it as the operator calls it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedpatch.node.agent import Agent
from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.local import LocalTransport
from kschedpatch.node.script import agent_script
from kschedpatch.node.session import Session
from tests.unit.errors.brokennode import Node


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    made = Node(tmp_path)
    monkeypatch.setenv("KSCHEDPATCH_ROOT", str(made.root))
    monkeypatch.setenv("PATH", f"{made.programs}:{os.environ['PATH']}")
    return made


@pytest.fixture
def agent() -> Iterator[Agent]:
    made = Agent(Session(LocalTransport("cp1"), NO_BECOME, agent_script()))
    yield made
    made.close()
