"""``python -m tests.errors DIR`` writes the reference page of all error messages into DIR."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.errors.page import NAME, page

if __name__ == "__main__":
    (Path(sys.argv[1]) / NAME).write_text(page(), encoding="utf-8")
