"""Whatever the configuration: twice is once, the meaning stays, and so does every other byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedpatch.core.schedconfig.conversion.configuration import Choices, convert
from kschedpatch.core.schedconfig.conversion.roles import ROLE_POINTS, roles_of
from kschedpatch.core.schedconfig.conversion.settings import Setting, source_setting, target_setting
from kschedpatch.core.schedconfig.conversion.successors import succeed
from kschedpatch.core.schedconfig.read import ConfigText, read_config
from kschedpatch.core.yamltext import emit
from kschedpatch.core.yamltext.nodes import Mapping, Node, same, value_of
from kschedpatch.core.yamltext.splice import respell

GROUP = "kubescheduler.config.k8s.io"
FIRST_AND_LAST = {"v1beta1": (22, 22), "v1beta2": (22, 27), "v1beta3": (23, 28), "v1": (25, 36)}
OLD = ("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "NodePreferAvoidPods")
SCORING = ("NodeAffinity", "TaintToleration", "NodeResourcesFit", "ImageLocality", "Mine")
FILTERING = ("NodePorts", "VolumeZone", "EBSLimits", "PodTopologySpread", "Mine")


def plugin_set(names: tuple[str, ...], *, weighted: bool) -> st.SearchStrategy[dict[str, Any]]:
    def built(enabled: list[str], disabled: list[str], weight: int) -> dict[str, Any]:
        more = {"weight": weight} if weighted else {}
        lists = {"enabled": [{"name": name, **more} for name in enabled],
                 "disabled": [{"name": name} for name in disabled]}  # fmt: skip
        return {key: listed for key, listed in lists.items() if listed}

    chosen = st.lists(st.sampled_from(names), unique=True, max_size=3)
    switched = st.lists(st.sampled_from((*names, "*")), unique=True, max_size=2)
    return st.builds(built, chosen, switched, st.integers(1, 9))


@st.composite
def configurations(draw: st.DrawFn) -> tuple[str, Setting]:
    """A text with a comment on every line, and what it was written for."""
    version = draw(st.sampled_from(sorted(FIRST_AND_LAST)))
    minor = draw(st.integers(*FIRST_AND_LAST[version]))
    scoring = (*SCORING, *OLD) if version == "v1beta1" else SCORING
    profiles = []
    for name in draw(st.sampled_from((("a",), ("a", "b")))):
        plugins = {"score": draw(plugin_set(scoring, weighted=True)),
                   "filter": draw(plugin_set(FILTERING, weighted=False))}  # fmt: skip
        if minor >= 23:
            known = tuple(name for name in SCORING if name != "Mine")
            plugins["multiPoint"] = draw(plugin_set(known, weighted=True))
        profiles.append({"schedulerName": name, "plugins": {k: v for k, v in plugins.items() if v}})
    value: dict[str, Any] = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": draw(st.integers(1, 64)),
    }
    if draw(st.booleans()):
        value["profiles"] = [item if item["plugins"] else {"schedulerName": item["schedulerName"]}
                             for item in profiles]  # fmt: skip
    value["leaderElection"] = {"leaderElect": draw(st.booleans())}
    lines = emit.document(value).splitlines()
    text = "".join(f"{line}  # {number}\n" for number, line in enumerate(lines))
    return text, Setting(version, minor)


TARGETS = st.integers(22, 36).map(target_setting)
ACCEPTED = Choices(accept_changes=True)


def config_of(text: str) -> ConfigText:
    config = read_config(text.encode(), "config.yaml").config
    assert config is not None
    return config


def migrated(text: str, source_minor: int, target: Setting) -> str:
    config = config_of(text)
    assert config.places.root is not None
    source = source_setting(config.value, source_minor, target)
    value = convert(config, source, target, ACCEPTED).value
    return respell(text, config.places.root, value).text


@settings(max_examples=60, deadline=None)
@given(configurations(), TARGETS)
def test_the_second_time_changes_nothing(given_text: tuple[str, Setting], target: Setting) -> None:
    text, source = given_text
    once = migrated(text, source.minor, target)
    assert migrated(once, source.minor, target) == once
    assert migrated(once, target.minor, target) == once


@settings(max_examples=60, deadline=None)
@given(configurations(), TARGETS)
def test_the_meaning_stays(given_text: tuple[str, Setting], target: Setting) -> None:
    text, source = given_text
    before = config_of(text).value
    after = config_of(migrated(text, source.minor, target)).value
    profiles = before.get("profiles") or [{}]
    for index, profile in enumerate(profiles):
        old = roles_of(profile.get("plugins"), source)
        wanted = succeed(old, {}, target.usable_plugins).roles
        new_profile = (after.get("profiles") or [{}])[index]
        new = roles_of(new_profile.get("plugins"), target)
        for role in ROLE_POINTS:
            # Limits that the source has not are the target's own affair.
            own = {name: weight for name, weight in new[role].items()
                   if name in wanted[role] or not name.endswith("Limits")}  # fmt: skip
            assert own == wanted[role], role


def untouched(old: Node, new: Node) -> Iterator[tuple[Node, Node]]:
    """Entries of mappings that mean the same before and after."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for entry in old.entries:
            other = new.entry(entry.name)
            if other is None:
                continue
            if same(value_of(entry.value), value_of(other.value)):
                yield entry.value, other.value
            else:
                yield from untouched(entry.value, other.value)


@settings(max_examples=60, deadline=None)
@given(configurations(), TARGETS)
def test_what_does_not_change_stays_byte_for_byte(
    given_text: tuple[str, Setting], target: Setting
) -> None:
    text, source = given_text
    after = migrated(text, source.minor, target)
    old, new = config_of(text).places.root, config_of(after).places.root
    assert old is not None
    assert new is not None
    for left, right in untouched(old, new):
        # To the end of the line: its comment as well.
        end, other = text.index("\n", left.end - 1), after.index("\n", right.end - 1)
        assert text[left.start : end] == after[right.start : other]
