"""Random YAML values, and the many ways in which people write one and the same value."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

KEYS = st.sampled_from(["name", "a", "b-c", "image", "mountPath", "x/y", "yes", "0", "hostPath"])
BLOCK_TEXTS = ("one line\n", "two\nlines\n", "- a: b\n\n# no comment\n")
TEXTS = st.one_of(
    st.sampled_from(BLOCK_TEXTS),
    st.sampled_from(
        ["", "yes", "no", "0644", "--v=5", "a: b", "a #b", "- x", "null", "~", "127.0.0.1", "1.5",
         "'", '"', "\\", "{x}", "[", "@a", "`", "%", "*a", "&a", "!a", "é", "😀", " lead", "trail ",
         "two\nlines", "tab\there", "2001-01-01", "0x1F", "k8s.io/x:v1", ":", "a:", "?", "<<", "="]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]), max_size=8),
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0.5, -1.25]), TEXTS
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


def spelling(draw: st.DrawFn, value: Any) -> str:
    """One of many texts that mean ``value``: styles, indentation, comments, blank lines."""
    step, dash = draw(st.sampled_from([2, 3, 4])), draw(st.sampled_from([0, 2]))
    lines = _block(draw, value, step, dash)
    text = "\n".join(lines)
    # A block scalar that ends with the text would lose its line break.
    end = "\n" if "|" in text else draw(st.sampled_from(["", "\n"]))
    return draw(st.sampled_from(["", "# head\n", "---\n"])) + text + end


def _noise(draw: st.DrawFn) -> list[str]:
    return draw(st.sampled_from([[], [], [], [""], ["# a comment"], ["# - x: y", ""]]))


def _tail(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(["", "", "", "  # why", " "]))


def _block(draw: st.DrawFn, value: Any, step: int, dash: int) -> list[str]:
    lines: list[str] = []
    if isinstance(value, dict) and value:
        for key, item in value.items():
            lines += _noise(draw)
            lines += _entry(draw, _scalar(draw, key), item, step, dash)
        return lines
    if isinstance(value, list) and value:
        for item in value:
            lines += _noise(draw)
            inner = _member(draw, item, step, dash)
            lone = item is None and draw(st.booleans())
            lines.append("-" if lone else "- " + inner[0])
            lines += [("  " + line) if line else "" for line in inner[1:]]
        return lines
    return [_flow(draw, value)]


def _member(draw: st.DrawFn, value: Any, step: int, dash: int) -> list[str]:
    if isinstance(value, dict | list) and value and draw(st.booleans()):
        lines = _block(draw, value, step, dash)
        while not lines[0] or lines[0].startswith("#"):  # the dash must meet content
            lines.pop(0)
        return lines
    return [_flow(draw, value) + _tail(draw)]


def _entry(draw: st.DrawFn, key: str, value: Any, step: int, dash: int) -> list[str]:
    if value in BLOCK_TEXTS and draw(st.booleans()):
        body = [" " * step + line if line else "" for line in value.splitlines()]
        return [f"{key}: |", *body, *draw(st.sampled_from([[], [""]]))]
    if value is None and draw(st.booleans()):
        return [f"{key}:" + _tail(draw)]
    if isinstance(value, dict) and value and draw(st.booleans()):
        inner = [" " * step + line if line else "" for line in _block(draw, value, step, dash)]
        return [f"{key}:" + _tail(draw), *inner]
    if isinstance(value, list) and value and draw(st.booleans()):
        inner = [" " * dash + line if line else "" for line in _block(draw, value, step, dash)]
        return [f"{key}:" + _tail(draw), *inner]
    return [f"{key}: {_flow(draw, value)}{_tail(draw)}"]


def _flow(draw: st.DrawFn, value: Any) -> str:
    comma = draw(st.sampled_from([", ", ",", " , "]))
    if isinstance(value, dict):
        inner = comma.join(f"{_scalar(draw, k)}: {_flow(draw, v)}" for k, v in value.items())
        return "{" + inner + "}"
    if isinstance(value, list):
        return "[" + comma.join(_flow(draw, v) for v in value) + "]"
    return _scalar(draw, value)


def _scalar(draw: st.DrawFn, value: Any) -> str:
    if isinstance(value, str):
        if value.isprintable() and draw(st.booleans()):
            return "'" + value.replace("'", "''") + "'"
        return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028").replace(
            "\u2029", "\\u2029"
        ).replace("\u00a0", "\\u00a0").replace("\ufeff", "\\ufeff")  # fmt: skip
    return json.dumps(value)
