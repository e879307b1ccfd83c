"""Sandboxes for the tests: one node that most share, and fresh ones for those that break it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kschedpatch.sandbox.node import SandboxNode
from kschedpatch.sandbox.sandbox import Sandbox
from kschedpatch.sandbox.tree import scheduler_manifest

Shell = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with Sandbox(tmp_path, nodes=1) as made:
        yield made


@pytest.fixture
def node(sandbox: Sandbox) -> SandboxNode:
    return sandbox.nodes[0]


def shell_of(node: SandboxNode) -> Shell:
    def run(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", command],
            env={**os.environ, **node.environment()},
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )

    return run


@pytest.fixture
def shell(node: SandboxNode) -> Shell:
    return shell_of(node)


def marked(mark: str, text: str | None = None) -> str:
    """A manifest that differs from kubeadm's in one annotation."""
    text = text or scheduler_manifest(34)
    return text.replace("metadata:\n", f"metadata:\n  annotations: {{mark: '{mark}'}}\n", 1)


def rename_in(node: SandboxNode, text: str) -> None:
    fresh = node.manifest.parent / ".fresh"
    fresh.write_text(text)
    fresh.rename(node.manifest)


def move_away(node: SandboxNode) -> None:
    """The manifest away, and time until its successor need not wait."""
    live = node.live()
    node.manifest.rename(node.manifest.parent / ".old")
    if live is not None:
        node.wait(lambda: not node.path(f"/proc/{live.pid}").exists())
    node.wait(lambda: not node.runtime.sandboxes)
    node._simulation.sleep(1.5)
