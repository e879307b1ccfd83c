"""docs/how-to/recover-by-hand.md: its commands, typed on simulated nodes that stand badly."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Phase, State
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.sandbox.node import SandboxNode
from tests.integration.rollout.rig import (
    CONFIG,
    Rig,
    assert_clean,
    on_event,
    patch,
    shell,
    stray_files,
    transaction,
)
from tests.shownpages import Shown, missing_line, shown_sessions

PAGE = Path(__file__).parents[3] / "docs/how-to/recover-by-hand.md"
LOOK, RESTORE, FORMER, KEPT = shown_sessions(PAGE)
ORIGINAL = "/var/lib/kschedpatch/revisions/original/before"


def on_node(node: SandboxNode, command: str) -> str:
    """Paths of the page as those of the node's tree, which is not this machine's."""
    return re.sub(r"(?<![\w./])/(?=(etc|var|proc|run)/)", f"{node.root}/", command)


def types(node: SandboxNode, session: list[Shown], change: Callable[[str], str] = str) -> str:
    """A block is one session of a shell, which ends at the first command that fails."""
    lines = [on_node(node, change(shown.command)) for shown in session]
    ran = shell(node, "set -e\n" + "\n".join(lines))
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    shown = [line for command in session for line in command.output]
    assert missing_line(shown, ran.stdout.splitlines()) is None, ran.stdout
    return ran.stdout


def forsaken(rig: Rig) -> None:
    """Switched, and nobody comes back: the operator's machine has died."""
    cancel = Cancel()

    def twice() -> None:
        cancel.ask()
        cancel.ask()

    listener = on_event(Phase.WATCH, State.STARTED, twice)
    result = rig.apply(patch(rig.fresh_v(), rest=CONFIG), cancel=cancel, listener=listener)
    assert result.exit_code == exitcodes.INTERRUPTED
    assert transaction(rig.node).exists()


def crashed_between_the_renames(rig: Rig) -> None:
    """The old manifest is away, the new one not there yet, and even the dead man is dead."""
    forsaken(rig)
    node = rig.node
    # Or the kubelet, which has seen the new manifest, would start its pod after the look.
    assert node.wait(lambda: node.live() is not None, 60)
    assert shell(node, "systemctl stop kschedpatch-deadman").returncode == 0
    run = (transaction(node) / "run").read_text().strip()
    node.manifest.rename(node.manifest.parent / f".kschedpatch-{run}.new")
    assert node.wait(lambda: node.live() is None)


def applied(rig: Rig) -> bytes:
    result = rig.apply(patch(rig.fresh_v(), rest=CONFIG))
    assert result.exit_code == exitcodes.OK, result
    text = rig.node.manifest_bytes()
    assert text is not None
    return text


def damage(node: SandboxNode) -> None:
    node.manifest.write_text("apiVersion: v1\nkind: Pod\n  spec: {\n")
    assert node.wait(lambda: node.live() is None, 60), "the kubelet should have dropped the pod"


def works_with(node: SandboxNode, manifest: bytes | None) -> None:
    assert node.manifest_bytes() == manifest
    live = node.live()
    assert live is not None
    assert live.ready


def test_an_armed_dead_man_is_told_to_restore_now(one: Rig) -> None:
    before = one.manifests()[0]
    forsaken(one)
    said = types(one.node, LOOK)
    assert "s until the old manifest goes back by itself" in said
    assert "the dead man counts" in said
    assert types(one.node, RESTORE).splitlines()[-1] == "ended: restored"
    works_with(one.node, before)
    assert_clean(one)


def test_after_a_crash_between_the_renames(one: Rig) -> None:
    before = one.manifests()[0]
    crashed_between_the_renames(one)
    said = types(one.node, LOOK)
    assert "kube-scheduler does not run" in said
    assert "the dead man does NOT run" in said
    types(one.node, RESTORE)
    works_with(one.node, before)
    assert_clean(one)


@pytest.mark.parametrize("strike", [forsaken, crashed_between_the_renames])
def test_without_the_script(one: Rig, strike: Callable[[Rig], None]) -> None:
    before = one.manifests()[0]
    strike(one)
    for name in ("agent.sh", "restore.sh"):
        one.node.path(f"/var/lib/kschedpatch/{name}").unlink()
    types(one.node, FORMER)
    works_with(one.node, before)
    (one.node.manifest.parent / ".kube-scheduler.bad").unlink(missing_ok=True)
    assert_clean(one)
    applied(one)  # and the next run finds nothing in its way
    assert one.rollback("original").exit_code == exitcodes.OK


@pytest.mark.parametrize("harm", [damage, lambda node: node.manifest.unlink()])
def test_a_manifest_that_is_damaged_or_gone(one: Rig, harm: Callable[[SandboxNode], None]) -> None:
    patched = applied(one)
    harm(one.node)
    said = types(one.node, LOOK)
    assert "no transaction is open" in said
    types(one.node, KEPT)
    works_with(one.node, patched)
    (one.node.manifest.parent / ".kube-scheduler.bad").unlink(missing_ok=True)
    assert stray_files(one.node) == []
    assert one.rollback("original").exit_code == exitcodes.OK
    assert_clean(one)


def test_what_stood_there_first_needs_nothing_of_the_patch(one: Rig) -> None:
    patched = applied(one)
    first = one.node.path(ORIGINAL).read_bytes()
    assert ORIGINAL in PAGE.read_text("utf-8")
    types(
        one.node, KEPT[:1] + KEPT[2:], lambda c: f"KEPT={ORIGINAL}" if c.startswith("KEPT=") else c
    )
    works_with(one.node, first)
    assert patched != first
    (one.node.manifest.parent / ".kube-scheduler.bad").unlink()
    assert_clean(one)


def test_damaged_and_within_reach_rollback_does_it(one: Rig) -> None:
    """What the page promises of kschedpatch itself."""
    first = one.manifests()[0]
    applied(one)
    damage(one.node)
    assert one.rollback().exit_code == exitcodes.OK
    works_with(one.node, first)
    assert_clean(one)
