"""Converts a profile's ``pluginConfig``: arguments that moved, fields that came and went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedpatch.core.kubeversions import CONFIG_GROUP
from kschedpatch.core.schedconfig.conversion.settings import Setting, was_stock_plugin
from kschedpatch.core.schedconfig.conversion.successors import STRATEGIES
from kschedpatch.core.schedconfig.gotypes import types_of
from kschedpatch.model.finding import Path

if TYPE_CHECKING:
    from kschedpatch.core.schedconfig.conversion.journal import Journal

_HEAD = ("apiVersion", "kind")


def convert_arguments(
    profile: dict[str, Any],
    successors: dict[str, Any],
    source: Setting,
    target: Setting,
    journal: Journal,
    path: Path,
) -> None:
    """``successors``: arguments that plugins need now; None for those that have none left."""
    given = profile.get("pluginConfig")
    listed: list[Any] = given if isinstance(given, list) else []
    had_some = bool(listed)
    here: Path = (*path, "pluginConfig") if path else ()
    _place(listed, successors, journal, here)
    usable = target.usable_plugins
    for index, item in enumerate(listed):
        if not _is_gone(item, usable) and isinstance(item.get("args"), dict):
            _fields(item["name"], item["args"], source, target, journal, (*here, index, "args"))
    listed[:] = [item for item in listed if not _is_gone(item, usable)]
    if listed:
        profile["pluginConfig"] = listed
    elif had_some:
        del profile["pluginConfig"]


def _is_gone(item: dict[str, Any], usable: frozenset[str]) -> bool:
    return was_stock_plugin(item["name"]) and item["name"] not in usable


def _place(listed: list[Any], successors: dict[str, Any], journal: Journal, here: Path) -> None:
    """Puts new arguments where the old ones stood."""
    at = {item.get("name"): index for index, item in enumerate(listed)}
    for name, arguments in successors.items():
        if arguments is None:
            continue
        old = {"NodeResourcesFit": (*STRATEGIES,), "NodeAffinity": ("NodeLabel",)}.get(name, ())
        place = next((at[known] for known in (name, *old) if known in at), None)
        if place is None:
            listed.append({"name": name, "args": arguments})
            continue
        item = listed[place]
        if item.get("args") == arguments:
            continue
        before = item.get("args") if isinstance(item.get("args"), dict) else {}
        stamp = {key: before[key] for key in _HEAD if key in before}
        if "kind" in stamp:
            stamp["kind"] = f"{name}Args"
        if item["name"] != name:
            journal.changed((*here, place), f"the arguments of {item['name']} are {name}'s now")
        item["name"], item["args"] = name, {**stamp, **arguments}


def _fields(
    plugin: str, args: dict[str, Any], source: Setting, target: Setting, journal: Journal,
    path: Path,
) -> None:  # fmt: skip
    group, _, version = str(args.get("apiVersion") or "").partition("/")
    if group == CONFIG_GROUP and version != target.version:
        args["apiVersion"] = f"{CONFIG_GROUP}/{target.version}"
        journal.changed((*path, "apiVersion"), f"{version} becomes {target.version}")
    constraints = args.get("defaultConstraints")
    is_list = plugin == "PodTopologySpread" and source.version == "v1beta1" and constraints
    if is_list and not args.get("defaultingType"):
        args["defaultingType"] = "List"
        message = "v1beta1 took constraints for a List by itself; it is written out"
        journal.changed((*path, "defaultConstraints"), message)
    kind = f"{plugin}Args"
    for field in types_of(source.version).get(kind, ()):
        if field in args and not target.has_field(kind, field):
            message = f"1.{target.minor} has no {field}"
            if args.pop(field) and field not in _HEAD:
                journal.lost((*path, field), message)
            else:
                journal.changed((*path, field), f"taken away: {message}")
    strategy = args.get("scoringStrategy")
    if plugin == "NodeResourcesFit" and isinstance(strategy, dict) and target.minor >= 36:
        ratio = "requestedToCapacityRatio"
        if strategy.get("type") != "RequestedToCapacityRatio" and ratio in strategy:
            del strategy[ratio]
            message = f"taken away: it never counted beside {strategy.get('type')}"
            journal.changed((*path, "scoringStrategy", ratio), f"{message}, and 1.36 refuses it")
