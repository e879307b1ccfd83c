"""The node half under each shell that a node may have: forward, and back by the dead man."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Phase, State
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.sandbox.sandbox import Sandbox
from tests.integration.rollout.rig import (
    CONFIG,
    SETTINGS,
    SPEED,
    Rig,
    assert_clean,
    on_event,
    patch,
)


def plant(tools: Path, name: str) -> None:
    """The shell as the node's sh, for the operator's calls and for systemd's units alike; of
    busybox its own applets as well, but for what the sandbox simulates."""
    program = shutil.which(name)
    assert program is not None
    (tools / "sh").symlink_to(program)
    if name == "busybox":
        listed = subprocess.run([program, "--list"], check=True, capture_output=True, text=True)
        for applet in listed.stdout.split():
            if not (tools / applet).exists() and "/" not in applet:
                (tools / applet).symlink_to(program)


@pytest.mark.parametrize("name", ["dash", "bash", "busybox"])
def test_one_transaction_forward_and_one_back(tmp_path: Path, name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    with Sandbox(tmp_path, nodes=1, speed=SPEED) as sandbox:
        rig = Rig(sandbox)
        plant(rig.node.path("/bin"), name)
        before = rig.manifests()
        settings = SETTINGS._replace(preflight=True)
        result = rig.apply(patch(3, rest=CONFIG), settings)
        assert result.exit_code == exitcodes.OK, result
        assert_clean(rig)
        standing = rig.manifests()
        assert standing != before
        cancel = Cancel()
        listener = on_event(Phase.WATCH, State.STARTED, cancel.ask)
        result = rig.apply(patch(4), cancel=cancel, listener=listener)
        assert result.exit_code == exitcodes.INTERRUPTED, result
        assert rig.manifests() == standing
        assert_clean(rig)
