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


@dataclass(frozen=True)
class Marked:
    """A mapping or a list with an anchor or a tag before it. A scalar has its own in its token."""

    mark: str
    tree: Tree


Tree: TypeAlias = "Token | Map | Marked | tuple[Tree, ...]"
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
    if isinstance(tree, Marked):
        return Marked(tree.mark, replaced(tree.tree, rest, new))
    assert not isinstance(tree, str)
    return (*tree[:index], replaced(tree[index], rest, new), *tree[index + 1 :])


def at(tree: Tree, place: Place) -> Tree:
    for index in place:
        tree = _children(tree)[index]
    return tree


def _children(tree: Tree) -> tuple[Tree, ...]:
    if isinstance(tree, Map):
        return tuple(child for _, child in tree.pairs)
    if isinstance(tree, Marked):
        return (tree.tree,)
    return () if isinstance(tree, str) else tree


def written(tree: Tree, flow_from: int = 99) -> str:
    """Block style down to a depth, and flow style below it."""
    if _is_flow(tree, flow_from):
        return _flow(tree) + "\n"
    mark, inner = _parted(tree)
    lines = [mark] if mark else []
    return "".join(f"{line}\n" for line in [*lines, *_block(inner, flow_from)])


def _parted(tree: Tree) -> tuple[str, Tree]:
    """The anchor or tag of a tree, and what it stands before."""
    return (tree.mark, tree.tree) if isinstance(tree, Marked) else ("", tree)


def _is_flow(tree: Tree, flow_from: int) -> bool:
    _, inner = _parted(tree)
    return isinstance(inner, str | Marked) or _is_empty(inner) or flow_from <= 0


def _block(tree: Tree, flow_from: int) -> Iterator[str]:
    if isinstance(tree, Map):
        for key, child in tree.pairs:
            mark, inner = _parted(child)
            # An explicit key has its colon on a line of its own.
            if key.startswith("? "):
                yield key
                lead = ":"
            else:
                lead = f"{key}:"
            if _is_flow(child, flow_from - 1):
                yield f"{lead} {_flow(child)}"
            else:
                yield f"{lead} {mark}" if mark else lead
                dash = "  " if isinstance(inner, Map) or lead == ":" else ""
                yield from (dash + line for line in _block(inner, flow_from - 1))
    else:
        assert isinstance(tree, tuple)
        for child in tree:
            mark, inner = _parted(child)
            flow = _is_flow(child, flow_from - 1)
            lead = "- "
            if mark and not flow:
                yield f"- {mark}"
                lead = "  "
            for line in (_flow(child),) if flow else _block(inner, flow_from - 1):
                yield lead + line
                lead = "  "


def _is_empty(tree: Tree) -> bool:
    return not (tree.pairs if isinstance(tree, Map) else tree)


def _flow(tree: Tree) -> str:
    if isinstance(tree, str):
        return str(tree)
    if isinstance(tree, Marked):
        return f"{tree.mark} {_flow(tree.tree)}"
    if isinstance(tree, Map):
        # The blank before the colon: an alias as a key needs it.
        pairs = ((f"{key} " if key[:1] in "*?" else key, child) for key, child in tree.pairs)
        return "{" + ", ".join(f"{key}: {_flow(child)}" for key, child in pairs) + "}"
    return "[" + ", ".join(_flow(child) for child in tree) + "]"


def as_json(tree: Tree) -> str:
    """The same as JSON, as far as its scalars have a JSON form; an odd one stays as it is."""
    if isinstance(tree, Map):
        names = ((_unquoted(key.removeprefix("? ")), child) for key, child in tree.pairs)
        pairs = (f"{json.dumps(name)}: {as_json(child)}" for name, child in names)
        return "{" + ", ".join(pairs) + "}"
    if isinstance(tree, Marked):
        return as_json(tree.tree)
    if not isinstance(tree, str):
        return "[" + ", ".join(as_json(child) for child in tree) + "]"
    if _JSON_SCALAR.fullmatch(tree) or not _WORD.fullmatch(tree):
        return str(tree)
    return json.dumps(_unquoted(tree))


_JSON_SCALAR = re.compile(r"null|true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"'[^']*'|\"[^\"]*\"|[\w./:*+=-]+")


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in "'\"" and text[-1:] == text[:1] and len(text) > 1 else text
