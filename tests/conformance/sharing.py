"""The same said in YAML's odder ways: anchors and aliases, merge keys, tags, explicit keys. Mostly
it stays what it was; what it becomes otherwise only a reader that follows Go's knows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable

from hypothesis import strategies as st

from .tree import Map, Marked, Place, Token, Tree, at, places, replaced

_TAGS = (
    "!!str", "!!int", "!!float", "!!bool", "!!null", "!!binary", "!!timestamp", "!x", "!",
    "!<tag:yaml.org,2002:str>", "!!foo", "!e!x", "!!map",
)  # fmt: skip
_COLLECTION_TAGS = ("!!map", "!!seq", "!x", "!", "!!str", "!!omap")


@st.composite
def shared(draw: st.DrawFn, tree: Tree) -> Tree:
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        tree = draw(draw(st.sampled_from(_WAYS))(tree))
    return tree


def _shapes(tree: Tree) -> dict[tuple[str, ...], list[Place]]:
    """Places that are alike: the same keys lead to them, whatever the indexes in between."""
    found: dict[tuple[str, ...], list[Place]] = defaultdict(list)

    def walk(here: Tree, place: Place, keys: tuple[str, ...]) -> None:
        found[keys].append(place)
        if isinstance(here, Map):
            for index, (key, child) in enumerate(here.pairs):
                walk(child, (*place, index), (*keys, key))
        elif isinstance(here, Marked):
            walk(here.tree, (*place, 0), keys)
        elif not isinstance(here, str):
            for index, child in enumerate(here):
                walk(child, (*place, index), (*keys, "-"))

    walk(tree, (), ())
    return found


def _marked(mark: str, tree: Tree) -> Tree:
    return Token(f"{mark} {tree}") if isinstance(tree, str) else Marked(mark, tree)


def _is_below(place: Place, other: Place) -> bool:
    return place[: len(other)] == other


@st.composite
def _aliased(draw: st.DrawFn, tree: Tree) -> Tree:
    """An anchor, and its alias at a place of the same kind later in the file: the plugins of one
    profile for another. Now and then at any other place."""
    groups = [group for keys, group in _shapes(tree).items() if keys and len(group) > 1]
    alike = draw(st.integers(0, 3))
    if groups and alike:
        group = draw(st.sampled_from(groups))
    else:
        group = [place for place, _ in places(tree) if place]
    if len(group) < 2:
        return tree
    first = draw(st.integers(0, len(group) - 2))
    second = draw(st.integers(first + 1, len(group) - 1))
    one, two = group[first], group[second]
    if _is_below(one, two) or (_is_below(two, one) and draw(st.integers(0, 4))):
        return tree
    name = draw(st.sampled_from(["x", "y", "defaults", "a-1_b"]))
    tree = replaced(tree, two, Token(f"*{name}"))
    return replaced(tree, one, _marked(f"&{name}", at(tree, one)))


@st.composite
def _merged(draw: st.DrawFn, tree: Tree) -> Tree:
    """Some pairs of a mapping come by a merge key, written there or by an alias."""
    maps = [(p, here) for p, here in places(tree) if isinstance(here, Map) and here.pairs]
    place, here = draw(st.sampled_from(maps))
    at_pair = draw(st.integers(0, len(here.pairs)))
    given, rest = here.pairs[:at_pair], here.pairs[at_pair:]
    if rest and not draw(st.integers(0, 4)):
        given = (*given, rest[0])  # in both: strictly that is a key twice
    way = draw(st.integers(0, 3))
    value: Tree = Map(given)
    if way == 0:
        half = len(given) // 2
        value = (Map(given[:half]), Map(given[half:]))
    merge = ("<<", value)
    pairs = (merge, *rest) if draw(st.booleans()) else (*rest, merge)
    return replaced(tree, place, Map(pairs))


@st.composite
def _merged_by_alias(draw: st.DrawFn, tree: Tree) -> Tree:
    """A later mapping of the same kind takes over an earlier one, and has only the rest itself."""
    groups = [
        maps
        for keys, group in _shapes(tree).items()
        if keys and len(maps := [p for p in group if isinstance(at(tree, p), Map)]) > 1
    ]
    if not groups:
        return tree
    group = draw(st.sampled_from(groups))
    one, two = group[0], group[draw(st.integers(1, len(group) - 1))]
    source, target = at(tree, one), at(tree, two)
    if not isinstance(source, Map) or not isinstance(target, Map) or _is_below(two, one):
        return tree
    known = {key for key, _ in source.pairs} if draw(st.integers(0, 4)) else set()
    rest = tuple(pair for pair in target.pairs if pair[0] not in known)
    alias: Tree = Token("*m") if draw(st.integers(0, 3)) else (Token("*m"),)
    tree = replaced(tree, two, Map((("<<", alias), *rest)))
    return replaced(tree, one, Marked("&m", source))


@st.composite
def _tagged(draw: st.DrawFn, tree: Tree) -> Tree:
    found = [(place, here) for place, here in places(tree) if not isinstance(here, Marked)]
    # Scalars by their kind first: most are strings.
    kinds: dict[tuple[str, ...], list[tuple[Place, str]]] = defaultdict(list)
    for place, here in found:
        if isinstance(here, str):
            kinds[_fitting(here)].append((place, here))
    if not kinds or not draw(st.integers(0, 5)):
        place, here = draw(st.sampled_from(found))
        return replaced(tree, place, _marked(draw(st.sampled_from(_COLLECTION_TAGS)), here))
    place, leaf = draw(st.sampled_from(draw(st.sampled_from(list(kinds.values())))))
    tag = draw(st.sampled_from(_fitting(leaf) if draw(st.booleans()) else _TAGS))
    return replaced(tree, place, Token(f"{tag} {leaf}"))


def _fitting(text: str) -> tuple[str, ...]:
    """Tags that say what the scalar is anyhow, or nearly."""
    bare = text.strip("'\"")
    if re.fullmatch(r"-?[0-9]+", bare):
        return ("!!int", "!!int", "!!float", "!!str")
    if re.fullmatch(r"-?[0-9.e+]+", bare):
        return ("!!float", "!!float", "!!int")
    if bare in ("true", "false", "yes", "no", "on", "off"):
        return ("!!bool", "!!bool", "!!str")
    if bare in ("", "~", "null"):
        return ("!!null", "!!str", "!x")
    return ("!!str", "!!str", "!x", "!", "!<tag:yaml.org,2002:str>")


@st.composite
def _respelled_key(draw: st.DrawFn, tree: Tree) -> Tree:
    """A key that is quoted, tagged, anchored, explicit, or an alias of an earlier one."""
    maps = [(p, here) for p, here in places(tree) if isinstance(here, Map) and here.pairs]
    place, here = draw(st.sampled_from(maps))
    index = draw(st.integers(0, len(here.pairs) - 1))
    key, child = here.pairs[index]
    ways = [f"? {key}", f"!!str {key}", f"!x {key}", f"&k {key}", f'"{key}"', f"!!int {key}"]
    pairs = (*here.pairs[:index], (draw(st.sampled_from(ways)), child), *here.pairs[index + 1 :])
    return replaced(tree, place, Map(pairs))


_WAYS: list[Callable[[Tree], st.SearchStrategy[Tree]]] = [
    _aliased, _aliased, _aliased, _merged, _merged_by_alias, _tagged, _tagged, _respelled_key,
]  # fmt: skip
