"""What pages show about nodes, typed by a user in a sandbox whose nodes have the pages' names."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.sandbox.standing import Bench, standing_sandbox
from tests.shownpages import ELSEWHERE, ROOT, Shown, needs_nodes, shown_sessions, typed

PAGES = [
    page
    for page in sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
    if page not in ELSEWHERE and any(map(needs_nodes, shown_sessions(page)))
]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    # Not below pytest's own directory: the nodes' sockets have room for short paths only.
    with tempfile.TemporaryDirectory(prefix="pages-") as name:
        programs = Path(name, "bin")
        programs.mkdir()
        with standing_sandbox(Path(name), 3, programs) as made:
            # ssh takes its configuration from the home that the system knows, not from HOME.
            words = [shutil.which("ssh") or "ssh", "-F", str(made.sandbox / "ssh_config")]
            ssh = programs / "ssh"
            ssh.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
            ssh.chmod(0o755)
            yield made


def sessions() -> list[tuple[Path, list[Shown]]]:
    return [(page, one) for page in PAGES for one in shown_sessions(page) if needs_nodes(one)]


@pytest.mark.parametrize(
    "page, session", sessions(), ids=lambda value: value.stem if isinstance(value, Path) else None
)
def test_what_a_page_shows_about_nodes_is_true(
    page: Path, session: list[Shown], bench: Bench, tmp_path: Path
) -> None:
    said = [typed(shown, tmp_path, bench.environment).stdout for shown in session]
    assert any(said), page
