"""A configuration before it is text: mappings that may hold a key twice, lists, and scalars that
are written as they are. Only so can a generated file say what no value in memory can."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


class Token(str):
    """A scalar as it stands in the file: `yes`, `"5"`, `!!str 5`, `0x10`."""

    __slots__ = ()


@dataclass(frozen=True)
class Map:
    pairs: tuple[tuple[str, Tree], ...]


Tree: TypeAlias = "Token | Map | tuple[Tree, ...]"
Place: TypeAlias = tuple[int, ...]
"""Indexes of pairs and items from the top: a key can be there twice, so it names no place."""


def mapping(pairs: dict[str, Tree]) -> Map:
    return Map(tuple(pairs.items()))


def places(tree: Tree, here: Place = ()) -> Iterator[tuple[Place, Tree]]:
    """Everything below (and with) the top, in reading order."""
    yield here, tree
    for index, child in enumerate(_children(tree)):
        yield from places(child, (*here, index))


def replaced(tree: Tree, place: Place, new: Tree) -> Tree:
    if not place:
        return new
    index, rest = place[0], place[1:]
    if isinstance(tree, Map):
        key, child = tree.pairs[index]
        pair = (key, replaced(child, rest, new))
        return Map((*tree.pairs[:index], pair, *tree.pairs[index + 1 :]))
    assert not isinstance(tree, str)
    return (*tree[:index], replaced(tree[index], rest, new), *tree[index + 1 :])


def at(tree: Tree, place: Place) -> Tree:
    for index in place:
        tree = _children(tree)[index]
    return tree


def _children(tree: Tree) -> tuple[Tree, ...]:
    if isinstance(tree, Map):
        return tuple(child for _, child in tree.pairs)
    return () if isinstance(tree, str) else tree


def written(tree: Tree, flow_from: int = 99) -> str:
    """Block style down to a depth, and flow style below it."""
    if isinstance(tree, str) or _is_empty(tree) or flow_from <= 0:
        return _flow(tree) + "\n"
    return "".join(f"{line}\n" for line in _block(tree, flow_from))


def _block(tree: Tree, flow_from: int) -> Iterator[str]:
    if isinstance(tree, Map):
        for key, child in tree.pairs:
            if isinstance(child, str) or _is_empty(child) or flow_from <= 1:
                yield f"{key}: {_flow(child)}"
            else:
                yield f"{key}:"
                dash = "" if not isinstance(child, Map) else "  "
                yield from (dash + line for line in _block(child, flow_from - 1))
    else:
        assert isinstance(tree, tuple)
        for child in tree:
            lead = "- "
            simple = isinstance(child, str) or _is_empty(child) or flow_from <= 1
            for line in (_flow(child),) if simple else _block(child, flow_from - 1):
                yield lead + line
                lead = "  "


def _is_empty(tree: Tree) -> bool:
    return not (tree.pairs if isinstance(tree, Map) else tree)


def _flow(tree: Tree) -> str:
    if isinstance(tree, str):
        return str(tree)
    if isinstance(tree, Map):
        return "{" + ", ".join(f"{key}: {_flow(child)}" for key, child in tree.pairs) + "}"
    return "[" + ", ".join(_flow(child) for child in tree) + "]"


def as_json(tree: Tree) -> str:
    """The same as JSON, as far as its scalars have a JSON form; an odd one stays as it is."""
    if isinstance(tree, Map):
        pairs = (f"{json.dumps(_unquoted(key))}: {as_json(child)}" for key, child in tree.pairs)
        return "{" + ", ".join(pairs) + "}"
    if not isinstance(tree, str):
        return "[" + ", ".join(as_json(child) for child in tree) + "]"
    if _JSON_SCALAR.fullmatch(tree) or not _WORD.fullmatch(tree):
        return str(tree)
    return json.dumps(_unquoted(tree))


_JSON_SCALAR = re.compile(r"null|true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"'[^']*'|\"[^\"]*\"|[\w./:*+=-]+")


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in "'\"" and text[-1:] == text[:1] and len(text) > 1 else text
