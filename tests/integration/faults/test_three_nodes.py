"""An operator who dies in the middle of three nodes: all go back, but for the narrow window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kschedpatch.core.fleet.standing import statuses
from kschedpatch.model import exitcodes
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.rollout import roll_out
from kschedpatch.sandbox.sandbox import Sandbox
from tests.faults.operators import Killed, Way
from tests.integration.rollout.rig import (
    SETTINGS,
    SPEED,
    Rig,
    patch,
    skip_to_deadline,
    stray_files,
    transaction,
)


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with Sandbox(tmp_path_factory.mktemp("three"), nodes=3, speed=SPEED) as sandbox:
        yield Rig(sandbox)


def killed_at(rig: Rig, text: bytes, verb: str, times: int) -> None:
    """Applies, dies after this many calls of the verb; then every node's time comes."""
    way = Way(rig.sandbox)
    seen = 0

    def at(moment: str, what: str) -> None:
        nonlocal seen
        seen += what.startswith(f"{verb} ") and moment == "after"
        if seen == times and not way.dead:
            way.kill()
            raise Killed

    own, rig.opened = rig.opened, way.opened
    try:
        with rig.fleet() as fleet:
            plan = rig.plan(fleet, text)
            way.counting, way.at = True, at
            with pytest.raises(Killed):
                roll_out(fleet, plan, SETTINGS, Cancel())
    finally:
        rig.opened = own
    for node in rig.nodes:
        skip_to_deadline(node)
    for node in rig.nodes:
        armed = (transaction(node) / "manifest").exists
        assert node.wait(lambda armed=armed: not armed(), 120)  # type: ignore[misc]
        assert node.wait_ready(60)
        assert stray_files(node) == []


def test_killed_in_the_middle_all_nodes_go_back(rig: Rig) -> None:
    before = rig.manifests()
    killed_at(rig, patch(rig.fresh_v()), "switch", 2)
    assert rig.manifests() == before


def test_killed_between_two_confirms_the_mix_is_named_and_closed(rig: Rig) -> None:
    before = rig.manifests()
    text = patch(rig.fresh_v())
    killed_at(rig, text, "confirm", 1)
    changed = [a != b for a, b in zip(rig.manifests(), before, strict=True)]
    assert changed.count(True) == 1, "the confirmed one stays, the others go back"
    with rig.fleet() as fleet:
        runs = {status.run for status in statuses(fleet.look())}
    assert len(runs) == 2
    assert rig.apply(text).exit_code == exitcodes.OK
    assert all(a != b for a, b in zip(rig.manifests(), before, strict=True))
    for node in rig.nodes:
        assert not transaction(node).exists()
