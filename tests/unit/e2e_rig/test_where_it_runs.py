"""Where the rig can't run its tests are skipped with the reason; where it can, they never are."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cluster import settings

ROOT = Path(__file__).parents[3]
EVERY_RIGHT = (1 << 41) - 1


@pytest.fixture(autouse=True)
def _root_on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(settings, "_capabilities", lambda: EVERY_RIGHT)
    monkeypatch.delenv("CI", raising=False)


def test_root_on_linux_can() -> None:
    assert settings.why_not_here() is None


@pytest.mark.parametrize("ci", ["true", ""])
def test_another_system_is_a_reason_anywhere(monkeypatch: pytest.MonkeyPatch, ci: str) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert "needs Linux, this is Darwin" in str(settings.why_not_here())


@pytest.mark.parametrize("ci", ["true", ""])
def test_another_user_is_a_reason_anywhere(monkeypatch: pytest.MonkeyPatch, ci: str) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "needs root" in str(settings.why_not_here())


def test_root_of_a_container_is_told_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_capabilities", lambda: EVERY_RIGHT & ~(1 << 21))
    assert "needs CAP_SYS_ADMIN" in str(settings.why_not_here())


@pytest.mark.parametrize("ci", ["true", "1", "TRUE"])
def test_in_ci_a_restricted_root_is_no_excuse(monkeypatch: pytest.MonkeyPatch, ci: str) -> None:
    monkeypatch.setattr(settings, "_capabilities", lambda: 0)
    monkeypatch.setenv("CI", ci)
    assert settings.why_not_here() is None


# Stands in for a machine that has a reason, or none and a rig that breaks at bring-up.
STAGED = """
import contextlib
from tests.e2e import conftest as rig

def broken(*_, **__):
    raise rig.RigError("no cluster today")

class NoReaper:
    def __init__(self, run): pass
    def dismiss(self): pass

rig.bring_up = broken
rig.Reaper = NoReaper
rig.take_down = lambda: None
rig.refuse_beside_kept = lambda: None
rig.exclusive = contextlib.nullcontext
rig.why_not_here = lambda: {reason!r}
from tests.e2e.conftest import *
"""


def outcome(directory: Path, reason: str | None, ci: str) -> str:
    """The last words of a run of one test that wants a cluster."""
    (directory / "conftest.py").write_text(STAGED.format(reason=reason))
    (directory / "test_it.py").write_text("def test_it(cluster): pass\n")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", str(directory)],
        env=os.environ | {"CI": ci, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
    )
    return f"exit {ran.returncode}\n{ran.stdout}"


@pytest.mark.parametrize("ci", ["true", ""])
def test_a_rig_that_does_not_come_up_fails(tmp_path: Path, ci: str) -> None:
    said = outcome(tmp_path, None, ci)
    assert said.startswith("exit 1\n")
    assert "no cluster today" in said
    assert "1 error" in said
    assert "skipped" not in said


def test_a_reason_is_shown_with_the_skip(tmp_path: Path) -> None:
    said = outcome(tmp_path, "the e2e rig needs Linux, this is Plan 9", "true")
    assert said.startswith("exit 0\n")
    assert "1 skipped" in said
    assert "this is Plan 9" in said
