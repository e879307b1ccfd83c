"""What a patch, and the configuration that runs by it, lets one expect of a node."""

from __future__ import annotations

from typing import Any, NamedTuple

from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.schedconfig.read import read_mapping
from kschedpatch.core.staging import CONFIG_NAME
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.fleetplan import NodePlan


class Expected(NamedTuple):
    given: PatchInput | None = None
    """None: no patch is known; what runs by itself is looked at all the same."""
    plan: NodePlan | None = None
    config: dict[str, Any] = {}  # noqa: RUF012  never changed
    """The scheduler's configuration: as planned, else as the container sees it."""


def expected_of(given: PatchInput | None, node: NodeFacts, plan: NodePlan | None) -> Expected:
    text = planned_config(plan)
    text = node.live_config if text is None else text
    return Expected(given, plan, config_value(text))


def config_value(text: bytes | None) -> dict[str, Any]:
    config = read_mapping(text, CONFIG_NAME).config if text is not None else None
    return config.value if config is not None else {}


def planned_config(plan: NodePlan | None) -> bytes | None:
    if plan is None or plan.generation is None:
        return None
    files = (item.file for item in plan.generation.files if item.name == CONFIG_NAME)
    return next((file.content for file in files), None)


def profiles_of(config: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The profiles that are asked for, the default one where none is; each has its name."""
    listed = config.get("profiles")
    profiles = [
        item for item in (listed if isinstance(listed, list) else ()) if isinstance(item, dict)
    ]
    named = ({**item, "schedulerName": item.get("schedulerName") or DEFAULT} for item in profiles)
    return tuple(named) or ({"schedulerName": DEFAULT},)


DEFAULT = "default-scheduler"


def enabled_plugins(profile: dict[str, Any]) -> tuple[tuple[str, str, int], ...]:
    """(point, name, weight) of what a profile switches on itself; weight 0: not said."""
    plugins = profile.get("plugins")
    found = []
    for point, chosen in plugins.items() if isinstance(plugins, dict) else ():
        enabled = chosen.get("enabled") if isinstance(chosen, dict) else None
        for item in enabled if isinstance(enabled, list) else ():
            if isinstance(item, dict) and isinstance(item.get("name"), str):
                weight = item.get("weight")
                found.append((point, item["name"], weight if isinstance(weight, int) else 0))
    return tuple(found)


def score_plugins(config: dict[str, Any], scheduler: str) -> tuple[str, ...]:
    """Those that a profile asks for its scores, besides what every scheduler has."""
    names = (
        name
        for profile in profiles_of(config)
        if profile["schedulerName"] == scheduler
        for point, name, _ in enabled_plugins(profile)
        if point in {"score", "preScore", "multiPoint"}
    )
    return tuple(dict.fromkeys(names))
