"""Profiles: plugin sets at every extension point, and arguments."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from .arguments import Trees, argued, arguments, fields
from .plugins import ALL, plugins, points
from .scalars import NAMES, number, one_of
from .tree import Map, Token, Tree, mapping

_ALL_OFF: Tree = (mapping({"name": Token("'*'")}),)
#: Not registered anywhere, or mistyped.
STRANGERS = one_of(
    "MyPlugin", "GPUMPSPlugin", "NodeResourceFit", "nodeName", "Coscheduling", '""', "'*'",
    "123", "NodeResourcesFitArgs"
)  # fmt: skip


_WEIGHTS = number(0, 100) | number(0, 100) | one_of("2147483647", "21474836", "-1", "92233720")


class Release(NamedTuple):
    """What a generated file is meant for."""

    minor: int
    version: str
    """Of the configuration: v1beta1 to v1."""


def _plugin(names: Trees, weight: bool) -> Trees:
    return fields({"name": names}, {"weight": _WEIGHTS} if weight else {})


@st.composite
def _plugin_set(draw: st.DrawFn, minor: int, point: str) -> Tree:
    there = plugins(minor, point)
    if point == "queueSort":
        return mapping(
            {"enabled": (mapping({"name": Token("PrioritySort")}),), "disabled": _ALL_OFF}
        )
    if point == "bind":
        return mapping(
            {"disabled": _ALL_OFF, "enabled": (mapping({"name": Token("DefaultBinder")}),)}
        )
    found: dict[str, Tree] = {}
    if draw(st.integers(0, 3)) and there:
        chosen = draw(st.lists(st.sampled_from(there), max_size=3, unique=True))
        if point == "multiPoint":
            chosen = [name for name in chosen if name not in ("PrioritySort", "DynamicResources")]
        weighs = point in ("score", "multiPoint") or not draw(st.integers(0, 5))
        found["enabled"] = tuple(draw(_plugin(one_of(name), weighs)) for name in chosen)
    if not draw(st.integers(0, 2)):
        every = point != "multiPoint" and draw(st.booleans())
        names = one_of(*(set(there) - {"PrioritySort", "DefaultBinder"} or {"NodeName"}))
        items = st.lists(_plugin(names | STRANGERS, weight=False), max_size=2).map(tuple)
        found["disabled"] = _ALL_OFF if every else draw(items)
    return mapping(found)


@st.composite
def _rash_set(draw: st.DrawFn, minor: int, point: str) -> Tree:
    """Names at any point, known or not, twice or not: what the framework's own rules are about."""
    likely = plugins(minor, point) or ["NodeName"]
    names = one_of(*likely) | one_of(*likely) | one_of(*ALL) | STRANGERS
    item = _plugin(names, weight=True)
    some = st.lists(item, max_size=2).map(tuple)
    return mapping(
        draw(
            st.fixed_dictionaries(
                {}, optional={"enabled": some, "disabled": some | st.just(_ALL_OFF)}
            )
        )
    )


@st.composite
def _plugin_sets(draw: st.DrawFn, release: Release, rash: bool, queue_sort: bool) -> Map:
    usual = [point for point in points(release.minor) if point != "queueSort"]
    chosen = draw(st.lists(st.sampled_from(usual), max_size=4, unique=True))
    found = {point: draw(_plugin_set(release.minor, point)) for point in chosen}
    if queue_sort:
        found["queueSort"] = draw(_plugin_set(release.minor, "queueSort"))
    if rash:
        point = draw(st.sampled_from(points(release.minor)))
        found[point] = draw(_rash_set(release.minor, point))
    return mapping(found)


@st.composite
def _plugin_config(draw: st.DrawFn, release: Release) -> Tree:
    names = draw(st.lists(st.sampled_from(argued(release.minor)), max_size=3, unique=True))
    found: list[Tree] = []
    for name in names:
        given = draw(arguments(release.minor, name))
        assert isinstance(given, Map)
        if not draw(st.integers(0, 3)):
            # Both may be left out, and must fit if they are there.
            head = {
                "apiVersion": Token(f"kubescheduler.config.k8s.io/{release.version}"),
                "kind": Token(f"{name}Args"),
            }
            given = Map((*head.items(), *given.pairs))
        item: dict[str, Tree] = {"name": Token(name)}
        if draw(st.integers(0, 9)):
            item["args"] = given
        found.append(mapping(item))
    if not draw(st.integers(0, 7)):
        loose = fields(
            {"name": STRANGERS | one_of(*ALL)}, {"args": fields({}, {"foo": number(0, 3)})}
        )
        found.append(draw(loose))
    return tuple(found)


@st.composite
def profiles(draw: st.DrawFn, release: Release, young: bool) -> Tree:
    count = draw(st.sampled_from([1, 1, 1, 2, 2, 3]))
    queue_sort = not draw(st.integers(0, 4))
    unique = bool(draw(st.integers(0, 19)))
    names = draw(st.lists(NAMES, min_size=count, max_size=count, unique=unique))
    rash = draw(st.sampled_from([*[-1] * 5, 0, 0, 1, 1, 2]))
    found: list[Tree] = []
    for index, name in enumerate(names):
        profile: dict[str, Tree] = {}
        if count > 1 or draw(st.booleans()):
            profile["schedulerName"] = name
        if queue_sort or draw(st.integers(0, 3)):
            profile["plugins"] = draw(_plugin_sets(release, rash == index, queue_sort))
        if draw(st.integers(0, 2)):
            profile["pluginConfig"] = draw(_plugin_config(release))
        if young and not draw(st.integers(0, 3)):
            profile["percentageOfNodesToScore"] = draw(number(0, 100))
        found.append(mapping(profile))
    return tuple(found)
