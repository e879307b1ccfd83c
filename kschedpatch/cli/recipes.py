"""``recipes``: what can be started from."""

from __future__ import annotations

from kschedpatch.cli import options
from kschedpatch.cli.options import Format


def recipes(output: options.Output = Format.TABLE) -> None:
    """List the recipes: schedulers that people set up often."""
    from kschedpatch.inputs.recipes import all_recipes
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.program import as_typed

    found = [{"name": recipe.name, "summary": recipe.summary} for recipe in all_recipes()]
    wide = max(len(item["name"]) for item in found)
    lines = [f"{item['name']:{wide}}  {item['summary']}" for item in found]
    lines += ["", "kschedpatch init NAME writes one as a patch file to edit."]
    outcome = Outcome("RecipeList", data={"recipes": found})
    options.show(outcome, output, lambda _: as_typed("\n".join(lines) + "\n"))
