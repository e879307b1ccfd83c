"""What a simulated scheduler shows under /configz: its profiles in Go's inner form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def configz(config: Mapping[str, Any]) -> str:
    listed = config.get("profiles") or [{}]
    profiles = [_profile(item) for item in listed if isinstance(item, dict)]
    return json.dumps({"componentconfig": {"Profiles": profiles}})


def _profile(profile: Mapping[str, Any]) -> dict[str, Any]:
    sets = {
        point: {"enabled": chosen.get("enabled") or [], "disabled": chosen.get("disabled") or []}
        for point, chosen in (profile.get("plugins") or {}).items()
    }
    sets.setdefault("multiPoint", {"enabled": [], "disabled": []})
    # The merged list of the real one is longer; some of it stands for all.
    sets["multiPoint"]["enabled"] = [
        *({"name": name, "weight": 0} for name in ("PrioritySort", "NodeName", "DefaultBinder")),
        *sets["multiPoint"]["enabled"],
    ]
    body = {
        "schedulerName": profile.get("schedulerName") or "default-scheduler",
        "plugins": sets,
        "pluginConfig": profile.get("pluginConfig") or [],
    }
    shown: dict[str, Any] = _capitalised(body)
    return shown


def _capitalised(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[:1].upper() + key[1:]: _capitalised(item) for key, item in value.items()}
    return [_capitalised(item) for item in value] if isinstance(value, list) else value


def profile_names(config: Mapping[str, Any]) -> frozenset[str]:
    listed = config.get("profiles") or [{}]
    return frozenset(
        str(item.get("schedulerName") or "default-scheduler")
        for item in listed
        if isinstance(item, dict)
    )
