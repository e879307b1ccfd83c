"""Names of volumes that users did not name."""

from __future__ import annotations

import re


def volume_name(text: str, taken: set[str]) -> str:
    """A volume's name (a DNS label) made from a file's or path's; taken ones get a number."""
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:45].strip("-") or "file"
    name, number = f"kschedpatch-{slug}", 2
    while name in taken:
        name, number = f"kschedpatch-{slug}-{number}", number + 1
    taken.add(name)
    return name
