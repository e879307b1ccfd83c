"""The recipes by what they change: the static pod, or a Deployment."""

from __future__ import annotations

from kschedpatch.inputs.recipes import all_recipes

OF_STATIC_PODS = [
    recipe.name for recipe in all_recipes() if not recipe.name.endswith(("-second", "-deployment"))
]
OWN_PLUGIN = {
    "alnair": "SchedulerTimestamp",
    "gpumps": "GPUMPSPlugin",
    "namescore": "NameScore",
}
"""What the image of such a recipe has, and the stock scheduler has not."""
