"""docs/how-to/air-gapped.md: a wheelhouse is made with the network, and used without it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.artefacts import docker_archive
from tests.shownpages import Shown, shown_sessions, typed

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/air-gapped.md"
CONNECTED, CUT_OFF, ARCHIVE = shown_sessions(PAGE)
#: What the package index is where there is none.
NOWHERE = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}


def types(session: list[Shown], directory: Path, **environment: str) -> list[str]:
    """What each command of the session said."""
    # A system's own python3 may come without pip.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    own = {**os.environ, "PATH": path, "COLUMNS": "80", **environment}
    return [typed(shown, directory, own).stdout for shown in session]


def test_from_a_clone_to_a_machine_without_a_network(tmp_path: Path) -> None:
    clone, desk = tmp_path / "clone", tmp_path / "desk"
    desk.mkdir()
    clone.mkdir()
    shutil.copytree(
        ROOT / "kschedpatch", clone / "kschedpatch", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "requirements-run.lock"):
        shutil.copy(ROOT / name, clone)
    try:
        types(CONNECTED, clone)
    except AssertionError as error:
        unreached = re.search(r"NewConnectionError|Name or service|No matching dist", str(error))
        if unreached and not os.environ.get("CI"):
            pytest.skip("no package index is reached from here")
        raise
    (clone / "wheelhouse").rename(desk / "wheelhouse")
    types(CUT_OFF, desk, **NOWHERE)


def test_an_archive_is_taken_without_a_registry(tmp_path: Path) -> None:
    docker_archive(tmp_path / "scheduler.tar")
    (said,) = types(ARCHIVE, tmp_path)
    assert "error" not in said
    (tmp_path / "scheduler.tar").write_bytes(b"no archive")
    with pytest.raises(AssertionError, match=r"scheduler\.tar"):
        types(ARCHIVE, tmp_path)


def test_what_is_run_is_what_is_tested() -> None:
    """The two lock files name the same versions."""

    def pinned(name: str) -> set[str]:
        return set(re.findall(r"^([\w.-]+==[^ ]+)", (ROOT / name).read_text("utf-8"), re.M))

    run = pinned("requirements-run.lock")
    assert run
    assert run <= pinned("requirements.lock")
