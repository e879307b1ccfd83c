"""Writes values as YAML that Go, YAML 1.1 and YAML 1.2 readers understand alike.

Used for what is ours to write; a user's text is only ever spliced (``splice``).
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from kschedpatch.core.yamltext.goscalars import resolve_plain

# Plain where no reader can take it for anything but this string: no leading digit, no indicator.
_PLAIN = re.compile(
    r"(?:[A-Za-z_/]|--?[A-Za-z])(?:[A-Za-z0-9_./@=,+-]|:(?=[A-Za-z0-9_/.-]))*", re.ASCII
)
_PLAIN_NUMBERLIKE = re.compile(r"[0-9]+(?:\.[0-9]+){2,}(?:/[0-9]+)?|[0-9]+m", re.ASCII)
# Also what reorders or hides text: whoever reads our YAML should see what is in it.
_UNPRINTABLE = re.compile(
    "[\x7f-\xa0\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)


class Layout(NamedTuple):
    """How a file indents. kubeadm writes sequences at the column of their key."""

    mapping_step: int = 2
    sequence_step: int = 0


KUBEADM_LAYOUT = Layout()


def document(value: dict[str, Any]) -> str:
    """A whole document, with its final newline."""
    return "\n".join(block_lines(value, KUBEADM_LAYOUT)) + "\n" if value else "{}\n"


def block_lines(value: Any, layout: Layout) -> list[str]:
    """The lines of a value in block style, without indentation of the whole."""
    if isinstance(value, dict) and value:
        lines: list[str] = []
        for key, item in value.items():
            lines += entry_lines(key, item, layout)
        return lines
    if isinstance(value, list) and value:
        lines = []
        for item in value:
            lines += item_lines(item, layout)
        return lines
    return [scalar(value)]


def entry_lines(key: str, value: Any, layout: Layout) -> list[str]:
    return after_key(scalar(key), value, layout)


def after_key(key: str, value: Any, layout: Layout) -> list[str]:
    """``key:`` as it is written, with its value behind or below it."""
    below = block_lines(value, layout)
    if isinstance(value, dict) and value:
        return [f"{key}:", *(_indent(layout.mapping_step, line) for line in below)]
    if isinstance(value, list) and value:
        return [f"{key}:", *(_indent(layout.sequence_step, line) for line in below)]
    return [f"{key}: {below[0]}"]


def item_lines(value: Any, layout: Layout) -> list[str]:
    first, *rest = block_lines(value, layout)
    return [f"- {first}", *(_indent(2, line) for line in rest)]


def _indent(width: int, line: str) -> str:
    return " " * width + line


def flow(value: Any) -> str:
    """One line of JSON, which is YAML's flow style too: right in both kinds of file."""
    match value:
        case dict():
            return "{" + ", ".join(f"{quoted(k)}: {flow(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(flow(item) for item in value) + "]"
        case str():
            return quoted(value)
        case _:
            return scalar(value)


def scalar(value: Any, style: str = "") -> str:
    """A scalar on one line; ``style`` is the quote that stood there before, if there was one."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)
        case str() if style == "'" and _UNPRINTABLE.search(value) is None and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        case str() if style != '"' and _is_plain(value):
            return value
        case str():
            return quoted(value)
        case dict() if not value:
            return "{}"
        case list() if not value:
            return "[]"
    raise TypeError(f"not a scalar: {type(value)}")


def _is_plain(text: str) -> bool:
    if _PLAIN.fullmatch(text):
        return resolve_plain(text) == text
    return bool(_PLAIN_NUMBERLIKE.fullmatch(text)) and resolve_plain(text) == text


def quoted(text: str) -> str:
    """Double quotes. JSON's escapes are YAML's too, but for surrogate pairs, which stay raw."""
    body = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(_escaped, body)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
