"""What Go makes of a tree: aliases put in their place, mappings merged, tags obeyed, and all of it
as JSON can say it. Each value keeps the place where it is written."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kschedpatch.core.yamltext.bounds import MAX_DEPTH, TOO_DEEP
from kschedpatch.core.yamltext.goscalars import Scalar as ScalarValue
from kschedpatch.core.yamltext.goscalars import through_json
from kschedpatch.core.yamltext.goyaml.cursor import Refused
from kschedpatch.core.yamltext.goyaml.tags import is_merge, key_name, scalar_value
from kschedpatch.core.yamltext.goyaml.tree import Raw
from kschedpatch.core.yamltext.nodes import Entry, Mapping, Node, Scalar, Sequence

#: Go's own bounds on aliases, as far as they are reached before the bound on values.
_ALIASED, _DECODED, _ALIAS_SHARE = 100, 1000, 0.99


class Meaning:
    def __init__(self, max_nodes: int) -> None:
        self.doubled: list[Refused] = []
        """Keys that stand there twice. Go goes on behind them, and refuses the text at its end."""
        self.ambiguous: list[Refused] = []
        """Two keys that are one in JSON: Go takes either, by chance."""
        self._max_nodes = max_nodes
        self._decoded = 1
        self._aliased = 0
        self._open: list[Raw] = []
        """The aliases that are being followed."""

    def node(self, raw: Raw, depth: int = 1) -> Node:
        self._counted(raw, depth)
        if raw.kind == "alias":
            return self._followed(raw, depth)
        start, line, column = raw.start
        if raw.kind == "scalar":
            value = scalar_value(raw)
            if isinstance(value, float):
                if not math.isfinite(value):
                    message = f"{raw.value} is a number that JSON can't say"
                    raise Refused("Y018", message, raw.start)
                value = through_json(value)
            return Scalar(start, raw.end.offset, line, column, value, raw.style)
        if raw.kind == "sequence":
            items = tuple(self.node(child, depth + 1) for child in raw.children)
            return Sequence(start, _end(raw), line, column, raw.flow, items)
        entries = tuple(self._entries(raw, depth))
        return Mapping(start, _end(raw), line, column, raw.flow, entries)

    def _counted(self, raw: Raw, depth: int) -> None:
        self._decoded += 1
        if self._open:
            self._aliased += 1
        share = self._aliased / self._decoded
        if self._aliased > _ALIASED and self._decoded > _DECODED and share > _ALIAS_SHARE:
            raise Refused("Y010", "nearly everything here comes from aliases", raw.start)
        if self._decoded > self._max_nodes + 1:
            raise Refused("Y012", f"more than {self._max_nodes} values", raw.start)
        if depth > MAX_DEPTH:
            raise Refused("Y011", TOO_DEEP, raw.start)

    def _target(self, raw: Raw) -> Raw:
        if raw in self._open or raw.target is None:
            raise Refused("Y010", f"&{raw.value} contains itself", raw.start)
        if len(self._open) >= MAX_DEPTH:
            raise Refused("Y011", TOO_DEEP, raw.start)  # a merge within a merge is not deeper
        return raw.target

    def _followed(self, raw: Raw, depth: int) -> Node:
        target = self._target(raw)
        self._open.append(raw)
        node = self.node(target, depth)
        self._open.pop()
        return node

    def _entries(self, raw: Raw, depth: int) -> Iterator[Entry]:
        entries: dict[str, Entry] = {}
        lines: dict[tuple[type, ScalarValue], int] = {}
        for key, value, entry in self._pairs(raw, depth):
            identity = (type(value), value)
            if identity in lines:
                hint = f"it stands first in line {lines[identity]}; keep one of them"
                message = f"the key {entry.name!r} appears twice"
                self.doubled.append(Refused("Y008", message, key.start, hint))
            elif entry.name in entries:
                message = (
                    f"the key {entry.name!r} appears twice in JSON: it is chance which one counts"
                )
                self.ambiguous.append(Refused("Y015", message, key.start))
            lines[identity] = key.start.line + 1
            entries.pop(entry.name, None)
            entries[entry.name] = entry
        yield from entries.values()

    def _pairs(self, raw: Raw, depth: int) -> Iterator[tuple[Raw, ScalarValue, Entry]]:
        """Every pair in the order in which Go sets them, those of merged mappings among them."""
        for key, value in zip(raw.children[::2], raw.children[1::2], strict=True):
            if is_merge(key):
                yield from self._merged(value, depth)
                continue
            held, name = self._key(key, depth + 1)
            start, line, column = key.start
            place = Scalar(start, key.end.offset, line, column, name, key.style)
            yield key, held, Entry(place, name, self.node(value, depth + 1))

    def _key(self, raw: Raw, depth: int) -> tuple[ScalarValue, str]:
        self._counted(raw, depth)
        if raw.kind == "alias":
            target = self._target(raw)
            self._open.append(raw)
            held = self._key(target, depth)
            self._open.pop()
            return held
        if raw.kind != "scalar":
            raise Refused("Y015", "a key that is a list or a mapping", raw.start)
        value = scalar_value(raw)
        return value, key_name(value, raw)

    def _merged(self, raw: Raw, depth: int) -> Iterator[tuple[Raw, ScalarValue, Entry]]:
        if raw.kind == "sequence":
            # From its end: what stands first counts most.
            for child in reversed(raw.children):
                yield from self._merged_one(child, depth)
        else:
            yield from self._merged_one(raw, depth)

    def _merged_one(self, raw: Raw, depth: int) -> Iterator[tuple[Raw, ScalarValue, Entry]]:
        given = raw.target if raw.kind == "alias" else raw
        if given is None or given.kind != "mapping":
            raise Refused("Y010", "a merge key (<<) takes mappings alone", raw.start)
        self._counted(raw, depth)
        if raw.kind == "alias":
            self._target(raw)
            self._open.append(raw)
            self._counted(given, depth)
        yield from self._pairs(given, depth)
        if raw.kind == "alias":
            self._open.pop()


def _end(raw: Raw) -> int:
    if raw.flow or not raw.children:
        return raw.end.offset
    last = raw.children[-1]
    return last.end.offset if last.kind in ("scalar", "alias") else _end(last)
