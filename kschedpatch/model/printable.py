"""Text from files and nodes, made harmless for terminals and for messages."""

from __future__ import annotations

import re

# Controls, line breaks, and what reorders or hides text: soft hyphen, Arabic letter mark,
# zero-width and directional characters, tags.
_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """What a file or a node sent, on one line, with escapes instead of what drives a terminal."""

    def escaped(match: re.Match[str]) -> str:
        code = ord(match[0])
        if code < 0x100:
            return "\\n" if code == 0x0A else f"\\x{code:02x}"
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    safe = _UNSAFE.sub(escaped, text)
    # Half of a surrogate pair can't be encoded at all.
    return safe.encode("utf-8", "backslashreplace").decode("utf-8")


def printable_lines(data: bytes, limit: int = 4096) -> str:
    """The last lines of what a command printed."""
    text = data[-limit:].decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    return "\n".join(printable(line) for line in text.splitlines()).strip()
