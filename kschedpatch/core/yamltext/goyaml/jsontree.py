"""JSON with places. A text that starts with a brace is JSON to the scheduler, and never YAML."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any

from kschedpatch.core.yamltext.bounds import MAX_DEPTH, TOO_DEEP
from kschedpatch.core.yamltext.goyaml.characters import decoded_as_go
from kschedpatch.core.yamltext.goyaml.cursor import Mark, Refused, mark_at
from kschedpatch.core.yamltext.nodes import Entry, Mapping, Node, Scalar, Sequence

#: What Go skips before it looks for the brace; JSON itself knows four kinds of blanks.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_STARTS = re.compile(f"[{_SPACE}]*{{")
_BLANKS = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_HALVES = re.compile("[\ud800-\udfff]")
_MAX_DIGITS = 400


def starts_as_json(data: bytes) -> bool:
    return _STARTS.match(data.decode("utf-8", "replace")) is not None


class JsonTree:
    def __init__(self, data: bytes, max_nodes: int) -> None:
        # What is no UTF-8 within a string is replaced by Go too.
        self._text = decoded_as_go(data)
        self._at = 0
        self._count = 0
        self._max_nodes = max_nodes
        self._lines = [match.end() for match in re.finditer("\n", self._text)]
        self.doubled: list[Refused] = []

    def root(self) -> Node:
        node = self._node(1)
        self._skip()
        if self._at < len(self._text):
            raise self._wrong()
        return node

    def _wrong(self) -> Refused:
        mark = mark_at(self._text, self._at)
        return Refused("Y019", "it starts with { but is no JSON", mark, "use block style")

    def _skip(self) -> str:
        match = _BLANKS.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._text[self._at : self._at + 1]

    def _mark(self) -> Mark:
        line = bisect_right(self._lines, self._at)
        start = self._lines[line - 1] if line else 0
        return Mark(self._at, line, self._at - start)

    def _node(self, depth: int) -> Node:
        char = self._skip()
        mark = self._mark()
        self._count += 1
        if self._count > self._max_nodes:
            raise Refused("Y012", f"more than {self._max_nodes} values", mark)
        if depth > MAX_DEPTH:
            raise Refused("Y011", TOO_DEEP, mark)
        if char == "{":
            entries = self._entries(depth)
            return Mapping(mark.offset, self._at, mark.line, mark.column, True, entries)
        if char == "[":
            items = self._items(depth)
            return Sequence(mark.offset, self._at, mark.line, mark.column, True, items)
        value = self._scalar(char)
        style = '"' if char == '"' else ""
        return Scalar(mark.offset, self._at, mark.line, mark.column, value, style)

    def _scalar(self, char: str) -> Any:
        if char == '"':
            return self._string()
        number = _NUMBER.match(self._text, self._at)
        if number is not None:
            self._at = number.end()
            is_whole = number[1] is None and number[2] is None and len(number[0]) <= _MAX_DIGITS
            return int(number[0]) if is_whole else float(number[0])
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        raise self._wrong()

    def _string(self) -> str:
        match = _STRING.match(self._text, self._at)
        if match is None:
            raise self._wrong()
        self._at = match.end()
        # Go has no halves of surrogate pairs either.
        return _HALVES.sub("\ufffd", str(json.loads(match[0])))

    def _entries(self, depth: int) -> tuple[Entry, ...]:
        entries: dict[str, Entry] = {}
        self._at += 1
        char = self._skip()
        while char != "}":
            if char != '"':
                raise self._wrong()
            mark = self._mark()
            self._count += 1
            name = self._string()
            key = Scalar(mark.offset, self._at, mark.line, mark.column, name, '"')
            if self._skip() != ":":
                raise self._wrong()
            self._at += 1
            value = self._node(depth + 1)
            if name in entries:
                hint = f"it stands first in line {entries[name].key.line + 1}; keep one of them"
                message = f"the key {name!r} appears twice"
                self.doubled.append(Refused("Y008", message, mark, hint))
                del entries[name]
            entries[name] = Entry(key, name, value)
            char = self._comma("}")
        self._at += 1
        return tuple(entries.values())

    def _items(self, depth: int) -> tuple[Node, ...]:
        items: list[Node] = []
        self._at += 1
        char = self._skip()
        while char != "]":
            items.append(self._node(depth + 1))
            char = self._comma("]")
        self._at += 1
        return tuple(items)

    def _comma(self, close: str) -> str:
        """What the next member starts with, or the closing bracket."""
        char = self._skip()
        if char == close:
            return char
        if char != ",":
            raise self._wrong()
        self._at += 1
        char = self._skip()
        if char == close:
            raise self._wrong()
        return char
