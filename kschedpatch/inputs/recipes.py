"""The recipes that come with the package: a patch file each, with the files that it names."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from kschedpatch.inputs.files import NamedText

_DIRECTORY = Path(__file__).resolve().parent.parent / "recipes"


class Recipe(NamedTuple):
    name: str
    path: Path

    @property
    def summary(self) -> str:
        """The first comment line of the file says what the recipe is for."""
        with self.path.open(encoding="utf-8") as lines:
            return next(lines).lstrip("# ").strip()

    def files(self) -> dict[str, bytes]:
        """Relative path → content: the patch itself first, then what it names."""
        companions = sorted(p for p in (_DIRECTORY / self.name).rglob("*") if p.is_file())
        return {
            str(path.relative_to(_DIRECTORY)): path.read_bytes()
            for path in (self.path, *companions)
        }


def all_recipes() -> tuple[Recipe, ...]:
    return tuple(Recipe(path.stem, path) for path in sorted(_DIRECTORY.glob("*.yaml")))


class NoRecipe(Exception):
    """There is no recipe of that name; the text says which there are."""


def recipe_named(name: str) -> Recipe:
    for recipe in all_recipes():
        if recipe.name == name:
            return recipe
    names = [recipe.name for recipe in all_recipes()]
    near = get_close_matches(name[:40], names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}."
    raise NoRecipe(f"there is no recipe {name!r}; {hint}")


def recipe_text(name: str) -> NamedText:
    path = recipe_named(name).path
    return NamedText(f"recipe {name}", path.read_bytes(), path.parent)
