"""The kubectl that the rig has built finds the plugin, runs it, and completes its words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kschedpatch import __version__

from .cluster.settings import cache_directory

BIN = Path(sys.executable).parent


@pytest.fixture
def kubectls() -> list[str]:
    """Of all minors that are in the cache by now."""
    found = sorted(cache_directory().glob("binaries/kubernetes-*/kubectl"))
    if not found:
        pytest.skip("no kubectl has been built yet")
    return [str(path) for path in found]


def said(*words: str) -> str:
    environment = {**os.environ, "PATH": f"{BIN}:/usr/bin:/bin", "KUBECONFIG": os.devnull}
    return subprocess.run(
        words, env=environment, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_kubectl_lists_and_runs_the_plugin(kubectls: list[str]) -> None:
    for kubectl in kubectls:
        assert str(BIN / "kubectl-schedpatch") in said(kubectl, "plugin", "list").splitlines()
        assert said(kubectl, "schedpatch", "--version") == f"kschedpatch {__version__}\n"
        assert "Usage: kubectl schedpatch plan" in said(kubectl, "schedpatch", "plan", "-h")


def test_kubectl_completes_its_words(kubectls: list[str]) -> None:
    for kubectl in kubectls:
        answer = said(kubectl, "__complete", "schedpatch", "plan", "--output", "").splitlines()
        assert answer == ["table", "json", "yaml", ":4"]
        answer = said(kubectl, "__complete", "schedpatch", "sta").splitlines()
        assert answer == ["status\tShow how each node stands", ":4"]
