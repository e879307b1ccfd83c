"""The smallest file that still shows a disagreement of the same kind."""

from __future__ import annotations

from collections.abc import Callable

from .configurations import Case
from .tree import Map, Marked, Place, Tree, at, places, replaced, written


def minimised(case: Case, shows: Callable[[Case], bool], budget: int = 150) -> Case:
    """Leaves out whatever can be left out, the largest parts first."""
    left = budget

    def still(candidate: Case) -> bool:
        nonlocal left
        left -= 1
        return left > 0 and shows(candidate)

    bare = case._replace(flags=())
    if case.flags and still(bare):
        case = bare
    if case.tree is not None:
        plain = case._replace(data=written(case.tree).encode(errors="surrogatepass"))
        if plain.data == case.data or still(plain):
            return _fewer_branches(plain, case.tree, still)
    return _fewer_lines(case, still)


def _fewer_branches(case: Case, tree: Tree, still: Callable[[Case], bool]) -> Case:
    depth = 0
    while True:
        cuts = [place for place, _ in places(tree) if len(place) == depth + 1]
        if not cuts:
            return case
        # From the end: what comes before keeps its index.
        for place in reversed(cuts):
            smaller = _without(tree, place)
            candidate = Case(written(smaller).encode(errors="surrogatepass"), case.flags, smaller)
            if still(candidate):
                case, tree = candidate, smaller
        depth += 1


def _without(tree: Tree, place: Place) -> Tree:
    parent, index = at(tree, place[:-1]), place[-1]
    if isinstance(parent, Map):
        return replaced(tree, place[:-1], Map((*parent.pairs[:index], *parent.pairs[index + 1 :])))
    if isinstance(parent, Marked):
        return replaced(tree, place[:-1], parent.tree)
    assert not isinstance(parent, str)
    return replaced(tree, place[:-1], (*parent[:index], *parent[index + 1 :]))


def _fewer_lines(case: Case, still: Callable[[Case], bool]) -> Case:
    lines = case.data.split(b"\n")
    size = max(1, len(lines) // 2)
    while size:
        start = 0
        while start < len(lines):
            candidate = case._replace(data=b"\n".join(lines[:start] + lines[start + size :]))
            if len(lines) > size and still(candidate):
                case, lines = candidate, lines[:start] + lines[start + size :]
            else:
                start += size
        size //= 2
    return case
