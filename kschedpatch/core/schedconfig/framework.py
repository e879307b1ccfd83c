"""What the scheduler checks when it builds a profile: each plugin exists, extends the points at
which it is listed and is there once; one queueSort, at least one binder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from kschedpatch.core.kubeversions.plugins import POINTS, plugin_points, refused_plugins
from kschedpatch.core.schedconfig.args import LATE, late_findings, refusal, setting_of
from kschedpatch.core.schedconfig.merge import Entry, Sets, entries_at, taken
from kschedpatch.core.schedconfig.pluginargs import args_problems
from kschedpatch.core.schedconfig.surroundings import Decoded
from kschedpatch.model.finding import Finding, Path, has_errors

#: Looking for the nearest name is slow; a file with more unknown ones than this has no typing slip.
ENOUGH_HINTS = 20


def refused_findings(decoded: Decoded, sets: Sets) -> Iterator[Finding]:
    """Names of the past; the scheduler does not look for them in multiPoint."""
    refused = refused_plugins(decoded.version, decoded.minor)
    for point in POINTS:
        if point.startswith("placement"):
            continue
        for entry in sets[point].enabled:
            if entry.name in refused and entry.path is not None:
                yield decoded.at("C027", (*entry.path, "name"), refusal(entry.name, decoded))
    yield from _conflicts(decoded, sets)


def _conflicts(decoded: Decoded, sets: Sets) -> Iterator[Finding]:
    """v1beta1 knows two ways to score resources, and takes only one of them at a time."""
    if decoded.version != "v1beta1":
        return
    old = {"NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio"}
    names = sets["score"].names
    clash = [name for name in names if name in old]
    for entry in sets["score"].enabled:
        if entry.name == "NodeResourcesFit" and clash and entry.path is not None:
            message = f"NodeResourcesFit can't score beside {clash[0]}"
            hint = f"disable {clash[0]} at score"
            yield decoded.at("C027", (*entry.path, "name"), message, hint)


def framework_findings(decoded: Decoded, index: int, sets: Sets) -> Iterator[Finding]:
    """One profile, built. One of defaults alone always can be."""
    if not decoded.profiles[index].keys() & {"plugins", "pluginConfig"}:
        return
    findings = [*_default_args(decoded, index, sets), *_members(decoded, sets)]
    yield from findings
    if not has_errors(findings):
        yield from _counts(decoded, index, sets)


def _default_args(decoded: Decoded, index: int, sets: Sets) -> Iterator[Finding]:
    """Arguments that are only looked at when the plugin is built, or that nobody gave."""
    configured = {
        item.get("name", ""): at
        for at, item in enumerate(decoded.profiles[index].get("pluginConfig") or ())
    }
    entries = {entry.name: entry for point in sets.values() for entry in point.enabled}
    for name, entry in entries.items():
        if name in configured:
            if name == LATE:
                yield from late_findings(decoded, index, configured[name], name)
        elif decoded.points(name) is not None and entry.path is not None:
            for _, message in args_problems(name, {}, setting_of(decoded)):
                yield decoded.at("C030", entry.path, f"{name} needs arguments: {message}")


def _members(decoded: Decoded, sets: Sets) -> Iterator[Finding]:
    told: set[str] = set()
    for point in POINTS:
        seen = set()
        for entry in sets[point].enabled:
            points = decoded.points(entry.name)
            path = _path(entry)
            if points is None:
                yield from _foreign(decoded, entry, point, told)
            elif point not in points:
                message = f"{entry.name} does not extend {point}"
                hint = f"it extends {', '.join(sorted(points))}"
                yield decoded.at("C023", path, message, hint)
            if entry.name in seen:
                message = f"{entry.name} is enabled twice at {point}"
                hint = (
                    f"disable the default at {point} first" if decoded.version == "v1beta1" else ""
                )
                yield decoded.at("C024", path, message, hint)
            seen.add(entry.name)
    yield from _multi_point(decoded, sets, told)


def _path(entry: Entry) -> Path:
    return (*entry.path, "name") if entry.path is not None else ("profiles",)


def _foreign(decoded: Decoded, entry: Entry, point: str, told: set[str]) -> Iterator[Finding]:
    """A plugin that is not the scheduler's own."""
    if not decoded.may_exist(entry.name):
        known = [*plugin_points(decoded.minor), *(decoded.around.known_plugins or ())]
        enough = len(told) >= ENOUGH_HINTS
        near = [] if enough else get_close_matches(entry.name[:40], known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}? " if near else ""
        told.add(entry.name)
        message = f"there is no plugin {entry.name!r} ({point})"
        if decoded.around.stock_image:
            hint += "A plugin of your own needs an image or binary that has it."
            message = (
                f"the stock scheduler of 1.{decoded.minor} has no plugin {entry.name!r} ({point})"
            )
        yield decoded.at("C005", _path(entry), message, hint.strip())
    elif decoded.around.known_plugins is None and entry.name not in told:
        told.add(entry.name)
        message = f"whether the image has {entry.name} is seen in the preflight"
        yield decoded.at("C035", _path(entry), message, "--known-plugins says it to lint")


def _multi_point(decoded: Decoded, sets: Sets, told: set[str]) -> Iterator[Finding]:
    """multiPoint, expanded: once a point, where nothing specific stands there or forbids it."""
    entries = sets["multiPoint"].enabled
    for entry in entries:
        if decoded.points(entry.name) is None:
            yield from _foreign(decoded, entry, "multiPoint", told)
    counts = Counter(sets["multiPoint"].names)
    spoken_for = {point: taken(sets, point) for point in POINTS}
    for entry in entries:
        if counts[entry.name] < 2 or entry.path is None:
            continue
        points = decoded.points(entry.name)
        free = [p for p, own in spoken_for.items() if own is not None and entry.name not in own]
        if any(points is None or point in points for point in free):
            counts[entry.name] = 0  # said once
            message = f"{entry.name} is enabled twice in multiPoint"
            yield decoded.at("C024", _path(entry), message)


def effective(decoded: Decoded, sets: Sets, point: str) -> tuple[list[str], bool]:
    """What runs at a point, and whether a plugin that nobody knows may run there too."""
    names = dict.fromkeys(entry.name for entry in entries_at(sets, point, decoded.minor))
    own = taken(sets, point)
    unknown = own is not None and any(
        name not in own and decoded.points(name) is None for name in sets["multiPoint"].names
    )
    return list(names), unknown


def _counts(decoded: Decoded, index: int, sets: Sets) -> Iterator[Finding]:
    path: Path = ("profiles", index, "plugins")
    sorts, unknown = effective(decoded, sets, "queueSort")
    if len(sorts) > 1 or (not sorts and not unknown):
        message = f"exactly one queueSort plugin is needed, here are {len(sorts)}"
        hint = "disable PrioritySort" if len(sorts) > 1 else "enable PrioritySort"
        if sorts:
            message += f": {', '.join(sorts)}"
        yield decoded.at("C025", (*path, "queueSort"), message, f"{hint} at queueSort")
    binders, unknown = effective(decoded, sets, "bind")
    if not binders and not unknown:
        message = "no plugin binds pods to nodes"
        yield decoded.at("C026", (*path, "bind"), message, "enable DefaultBinder at bind")
    placements, _ = effective(decoded, sets, "placementGenerate")
    if len(placements) > 1:
        message = f"at most one placementGenerate plugin: {', '.join(placements)}"
        yield decoded.at("C025", (*path, "placementGenerate"), message)
    yield from _weights(decoded, sets, "score")
    yield from _weights(decoded, sets, "placementScore")


def _weights(decoded: Decoded, sets: Sets, point: str) -> Iterator[Finding]:
    """The scheduler looks for a sum that 64 bits can't hold, and takes a negative one for it as
    soon as another plugin follows."""
    total = 0
    seen: set[str] = set()
    negative: Entry | None = None
    for entry in (*sets[point].enabled, *sets["multiPoint"].enabled):
        points = decoded.points(entry.name)
        if entry.name in seen or points is None or point not in points:
            continue
        seen.add(entry.name)
        if total < 0 and negative is not None and negative.path is not None:
            message = f"the weight of {negative.name} is negative ({negative.weight})"
            yield decoded.at("C028", (*negative.path, "weight"), message)
            return
        total += (entry.weight or 1) * 100
        negative = entry if entry.weight < 0 else negative
