"""A binary is hashed while it arrives, by whatever the node has for that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kschedpatch.core.generation import make_generation
from kschedpatch.model.plan import StagedFile
from kschedpatch.model.sources import SourceFile
from kschedpatch.node import verbs
from kschedpatch.node.agent import Agent, VerbFailed
from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.local import LocalTransport
from kschedpatch.node.script import agent_script
from kschedpatch.node.session import Session
from tests.unit.errors.brokennode import GENERATIONS, RUN, Node, digest

SIZE = 4 << 20
TEXT = "0123456789abcde\n" * (SIZE // 16)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    made = Node(tmp_path).locked()
    monkeypatch.setenv("KSCHEDPATCH_ROOT", str(made.root))
    monkeypatch.setenv("PATH", f"{made.programs}:{os.environ['PATH']}")
    return made


def staged(tmp_path: Path) -> str:
    """The generation's id."""
    file = tmp_path / "kube-scheduler"
    file.write_text(TEXT)
    source = SourceFile(file.name, str(file), digest(TEXT), SIZE)
    generation = make_generation([StagedFile(file.name, 0o755, source)])
    assert generation is not None
    agent = Agent(Session(LocalTransport("cp1"), NO_BECOME, agent_script()))
    try:
        agent.do(verbs.stage(RUN, "new", "", generation))
    finally:
        agent.close()
    return generation.id


@pytest.mark.parametrize(
    "openssl",
    [None, "exit 127", "cat >/dev/null; echo no", "[ $# = 3 ] || exit 1; exec sha256sum"],
    ids=["as it is here", "none", "of no use", "another one"],
)
def test_it_arrives_as_it_was(openssl: str | None, node: Node, tmp_path: Path) -> None:
    if openssl is not None:
        node.program("openssl", openssl)
    target = node.root / GENERATIONS / staged(tmp_path) / "kube-scheduler"
    assert target.read_text() == TEXT
    assert target.stat().st_mode & 0o777 == 0o755
    assert (target.parent / ".sha256").read_text() == f"{digest(TEXT)}  kube-scheduler\n"


@pytest.mark.parametrize("openssl", [None, "exit 127"])
def test_one_byte_that_is_another_is_noticed(
    openssl: str | None, node: Node, tmp_path: Path
) -> None:
    if openssl is not None:
        node.program("openssl", openssl)
    node.program("dd", 'dd=/bin/dd; $dd "$@" | tr 7 8')
    with pytest.raises(VerbFailed, match="kube-scheduler arrived damaged"):
        staged(tmp_path)
    assert not any((node.root / GENERATIONS).iterdir())


def test_a_disk_without_space_is_told(node: Node, tmp_path: Path) -> None:
    # What tee can't write, it hands on all the same.
    node.program("tee", "exec /usr/bin/tee /dev/full")
    with pytest.raises(VerbFailed, match=r"can't write kube-scheduler: no space\?"):
        staged(tmp_path)
    assert not any((node.root / GENERATIONS).iterdir())
