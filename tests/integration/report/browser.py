"""Headless Chromium: what it draws of a page, and what it measures there."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_HEIGHT = 1600


def installed() -> str:
    """Its path; without it a test is skipped, and in CI fails."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None and not os.environ.get("CI"):
        pytest.skip("no Chromium on this machine (Debian's package is called chromium)")
    assert found is not None, "no Chromium on this machine, and CI must have one"
    return found


class Browser(NamedTuple):
    program: str
    directory: Path

    def _runs(self, words: Sequence[str], *, width: int, dark: bool) -> str:
        command = [
            self.program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            f"--user-data-dir={self.directory / 'profile'}",
            f"--window-size={width},{_HEIGHT}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            *words,
        ]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def _file(self, page: str, name: str) -> str:
        file = self.directory / name
        file.write_text(page, "utf-8")
        return file.as_uri()

    def measures(
        self, page: str, script: str, *, width: int = 1280, dark: bool = False
    ) -> dict[str, Any]:
        """What the script's expression comes to. It looks at the page from outside of it: within,
        the page's own policy would not let it run."""
        dom = self._runs(
            ["--dump-dom", self._file(_framed(page, script, width), "measured.html")],
            width=max(width, 1280),
            dark=dark,
        )
        title = re.search("<title>(.*?)</title>", dom, re.DOTALL)
        assert title is not None, dom
        found: dict[str, Any] = json.loads(html.unescape(title[1]))
        return found


def _framed(page: str, script: str, width: int) -> str:
    """In a frame of that width: a window has 500 pixels at least. The names that a script uses are
    those of the frame."""
    return (
        '<!doctype html><meta name="color-scheme" content="light dark"><title></title>'
        f"<script>const measured = (document, innerWidth, getComputedStyle) => {script};"
        "const look = view => { document.title = JSON.stringify("
        "measured(view.document, view.innerWidth, view.getComputedStyle.bind(view))); };</script>"
        '<body style=margin:0><iframe onload="look(this.contentWindow)" '
        f'style="border:0;width:{width}px;height:{_HEIGHT}px" srcdoc="{html.escape(page)}">'
        "</iframe>"
    )
