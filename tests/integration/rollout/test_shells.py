"""The node half under each shell that a node may have: forward, and back by the dead man."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.facts import Hashes
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.nodepurge import plan_nodes_purge, purge_nodes
from kschedpatch.sandbox.sandbox import Sandbox
from tests.artefacts import docker_archive, sha256
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


def half_sent(uploads: Path, archive: Path) -> None:
    data = archive.read_bytes()
    uploads.mkdir(parents=True)
    (uploads / f"{sha256(data)}.part").write_bytes(data[:123_457])


@pytest.mark.parametrize("name", ["dash", "bash", "busybox"])
def test_one_transaction_forward_and_one_back(tmp_path: Path, name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    with Sandbox(tmp_path, nodes=1, speed=SPEED) as sandbox:
        rig = Rig(sandbox)
        plant(rig.node.path("/bin"), name)
        before = rig.manifests()
        settings = SETTINGS._replace(preflight=True)
        archive = docker_archive(tmp_path / "own.tar", layer=os.urandom(300_000))
        half_sent(rig.node.path("/var/lib/kschedpatch/uploads"), archive)
        told: list[Event] = []
        text = patch(3, scheduler=f"imageArchive: {archive}", rest=CONFIG)
        result = rig.apply(text, settings, listener=told.append)
        assert not any("damaged" in event.text for event in told)
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
        generations = rig.node.path("/etc/kubernetes/kschedpatch/generations")
        with rig.fleet() as fleet:
            [config] = generations.glob("*/*.yaml")
            config.write_bytes(b"by hand")
            [facts] = fleet.look(hashes=Hashes.ALL)
            assert "scheduler-config.yaml: FAILED" in facts.generation_problem
            assert facts.clock > 0
            assert facts.manifest_changed > 0
            assert "scheduler-config.yaml" in fleet.kept(facts.label, facts.revisions[-2].run).files
        assert rig.rollback("original").exit_code == exitcodes.OK
        with rig.fleet() as fleet:
            fleet.look()
            done = purge_nodes(fleet, plan_nodes_purge(fleet, partial=False), "ops@desk")
            assert done.exit_code == exitcodes.OK, done
            [facts] = fleet.look()
            assert facts.traces == ()
        assert not generations.parent.exists()
