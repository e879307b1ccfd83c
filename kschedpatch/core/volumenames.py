"""Names of volumes that users did not name."""

from __future__ import annotations

import re


def volume_name(text: str) -> str:
    """A volume's name (a DNS label) made from a file's."""
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:50].strip("-")
    return f"kschedpatch-{slug or 'file'}"
