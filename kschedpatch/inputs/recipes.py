"""The recipes that come with the package: a patch file each, with the files that it names."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

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


def recipe_named(name: str) -> Recipe | None:
    return next((recipe for recipe in all_recipes() if recipe.name == name), None)
