"""The nodes of a document: values with the place in the text where they stand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from kschedpatch.core.yamltext.goscalars import Scalar as ScalarValue
from kschedpatch.model.finding import Path

# Values are named tuples throughout: as frozen as dataclasses, and several times cheaper to
# define, which is most of what the program's start costs.


class Scalar(NamedTuple):
    """``start`` and ``end`` of every node are offsets in the text. ``end`` of a block collection
    is the end of its last content, not (as in YAML's own marks) the start of what follows."""

    start: int
    end: int
    line: int
    """0-based, as in the marks; people are shown ``line + 1``."""
    column: int
    value: ScalarValue
    style: str
    """The quote or block indicator (one of ``'``, ``"``, ``|``, ``>``), empty for plain."""

    @property
    def is_empty(self) -> bool:
        """Nothing is written there at all: ``key:`` or a lone dash."""
        return self.start == self.end


class Entry(NamedTuple):
    key: Scalar
    name: str
    value: Scalar | Mapping | Sequence


class Mapping(NamedTuple):
    start: int
    end: int
    line: int
    column: int
    flow: bool
    entries: tuple[Entry, ...]

    def entry(self, name: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.name == name), None)


class Sequence(NamedTuple):
    start: int
    end: int
    line: int
    column: int
    flow: bool
    items: tuple[Scalar | Mapping | Sequence, ...]


Node = Scalar | Mapping | Sequence


def value_of(node: Node) -> Any:
    """The plain value of a node: dicts, lists and scalars, free to be changed."""
    match node:
        case Mapping():
            return {entry.name: value_of(entry.value) for entry in node.entries}
        case Sequence():
            return [value_of(item) for item in node.items]
        case Scalar():
            return node.value
    raise TypeError(type(node))


def same(left: Any, right: Any) -> bool:
    """Equal as Kubernetes sees it. Python's ``==`` would take True for 1."""
    return canonical(left) == canonical(right)


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def nearest(root: Node, path: Path) -> Node:
    """The node at ``path``, or the deepest one on the way to it that exists.

    For a mapping's value it is the value's *key* that people look for, so a path that ends at an
    entry gives the key where the value starts on another line.
    """
    node = root
    shown: Node = root
    for step in path:
        match node:
            case Mapping() if isinstance(step, str):
                entry = node.entry(step)
                if entry is None:
                    return shown
                node = entry.value
                shown = node if node.line == entry.key.line and node.end > node.start else entry.key
            case Sequence() if isinstance(step, int) and 0 <= step < len(node.items):
                node = shown = node.items[step]
            case _:
                return shown
    return shown


def key_at(root: Node, path: Path) -> Node:
    """The key itself of the entry at ``path`` (for a key that should not be there)."""
    parent = root
    for step in path[:-1]:
        match parent:
            case Mapping() if isinstance(step, str) and (entry := parent.entry(step)):
                parent = entry.value
            case Sequence() if isinstance(step, int) and 0 <= step < len(parent.items):
                parent = parent.items[step]
            case _:
                return nearest(root, path)
    if isinstance(parent, Mapping) and isinstance(path[-1], str):
        entry = parent.entry(path[-1])
        if entry is not None:
            return entry.key
    return nearest(root, path)


def scalars(node: Node) -> Iterator[Scalar]:
    """Every scalar below a node, keys included, in the order of the text."""
    match node:
        case Scalar():
            yield node
        case Mapping():
            for entry in node.entries:
                yield entry.key
                yield from scalars(entry.value)
        case Sequence():
            for item in node.items:
                yield from scalars(item)
