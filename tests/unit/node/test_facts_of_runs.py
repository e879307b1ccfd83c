"""What a node tells of the runs that it keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from kschedpatch.core.objects.ledger import OPEN, SETTLED
from kschedpatch.node.agent import Agent
from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.local import LocalTransport
from kschedpatch.node.script import agent_script
from kschedpatch.node.session import Session

RUN = "20260101-000000-0001"
REASON = "caf\u00e9, and why"


@pytest.mark.parametrize(
    "kept, told",
    [
        ("open\n", OPEN),
        ("settled\n", SETTLED),
        # A full disk, or a power cut: what is not known to be settled is to be looked at.
        ("", OPEN),
        ("set", OPEN),
        (None, ""),
    ],
)
def test_how_it_stands_with_the_objects_of_a_run(
    kept: str | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "var/lib/kschedpatch/revisions" / RUN
    run.mkdir(parents=True)
    meta = f"run={RUN}\nkind=apply\nwhen=1\nwho=me\nreason={REASON}\n"
    (run / "meta").write_text(meta, "utf-8")
    (run / "outcome").write_text("open\n")
    if kept is not None:
        (run / "objects").write_text(kept)
    monkeypatch.setenv("KSCHEDPATCH_ROOT", str(tmp_path))
    agent = Agent(Session(LocalTransport("cp1"), NO_BECOME, agent_script()))
    [revision] = agent.facts(api=False).revisions
    agent.close()
    assert revision.objects == told
    assert revision.run == RUN
    assert revision.reason == REASON
