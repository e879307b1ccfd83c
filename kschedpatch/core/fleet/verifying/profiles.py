"""Each profile and plugin: loaded? From the scheduler's own /configz, or else from its log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kschedpatch.core.fleet.noderules import about
from kschedpatch.core.fleet.verifying.checking import checked, several, shortened, unchecked
from kschedpatch.core.fleet.verifying.configz import (
    LoadedProfile,
    differing_arguments,
    loaded_profiles,
)
from kschedpatch.core.fleet.verifying.expectations import Expected, enabled_plugins, profiles_of
from kschedpatch.core.fleet.verifying.logs import log_lines
from kschedpatch.model.checks import Check
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.inspection import Inspection

_HINT = "the scheduler reads its configuration once, when it starts"


def profile_checks(node: NodeFacts, expected: Expected, seen: Inspection) -> Iterator[Check]:
    if not seen.pid:
        return
    loaded = loaded_profiles(seen.configz) if seen.configz is not None else None
    if loaded is None:
        why = seen.configz_problem or "/configz shows nothing that can be read"
        yield from _from_log(node, expected, seen, why)
        return
    for profile in profiles_of(expected.config):
        yield from _profile(node, profile, loaded)
    for name in wanted_plugins(expected):
        yield _plugin(node, name, loaded)


def wanted_plugins(expected: Expected) -> tuple[str, ...]:
    """Those that the patch expects, and those that its configuration switches on."""
    named = expected.given.patch.spec.verify.plugins if expected.given is not None else ()
    own = (
        name for profile in profiles_of(expected.config) for _, name, _ in enabled_plugins(profile)
    )
    return tuple(dict.fromkeys((*named, *own)))


def _profile(
    node: NodeFacts, profile: dict[str, object], loaded: Sequence[LoadedProfile]
) -> Iterator[Check]:
    name = str(profile["schedulerName"])
    subject = f"profile {name}"
    found = next((item for item in loaded if item.name == name), None)
    if found is None:
        names = several(item.name for item in loaded) or "none"
        message = f"it is not served; /configz has {names}"
        finding = about(node, "N126", f"{name}: {message}", _HINT)
        yield checked(node.label, subject, message, [finding])
        return
    problems = list(_sets_differ(profile, found))
    findings = [about(node, "N127", f"{name}: {several(problems)}", _HINT)] if problems else []
    count = len({plugin.name for plugin in found.plugins})
    evidence = several(problems) or f"served, with {count} plugins by /configz"
    yield checked(node.label, subject, evidence, findings)
    yield from _arguments(node, profile, found)


def _sets_differ(profile: dict[str, object], found: LoadedProfile) -> Iterator[str]:
    for point, name, weight in enabled_plugins(profile):
        there = [p for p in found.plugins if p.name == name and p.point in {point, "multiPoint"}]
        if not there:
            yield f"{name} is not on at {point}"
        elif weight and not any(p.weight == weight for p in there):
            yield f"{name} weighs {there[0].weight} at {point}, not {weight}"


def _arguments(
    node: NodeFacts, profile: dict[str, object], found: LoadedProfile
) -> Iterator[Check]:
    entries = profile.get("pluginConfig")
    for entry in entries if isinstance(entries, list) else ():
        name = str(entry.get("name")) if isinstance(entry, dict) else ""
        wanted = entry.get("args") if isinstance(entry, dict) else None
        if not isinstance(wanted, dict):
            continue
        subject = f"arguments of {name} in {found.name}"
        there = found.arguments.get(name)
        if not isinstance(there, dict) or "Raw" in there:
            yield unchecked(node.label, subject, "/configz does not show them")
            continue
        problems = list(differing_arguments(wanted, there))
        findings = [about(node, "N128", f"{name}: {several(problems)}", _HINT)] if problems else []
        evidence = several(problems) or f"as asked: {_told(wanted)}"
        yield checked(node.label, subject, evidence, findings)


def _told(wanted: dict[str, object]) -> str:
    plain = [f"{k} {v}" for k, v in wanted.items() if isinstance(v, str | int | float)]
    return several(plain) or several(wanted)


def _plugin(node: NodeFacts, name: str, loaded: Sequence[LoadedProfile]) -> Check:
    subject = f"plugin {name}"
    places = [
        f"{plugin.point} of {profile.name}" + (f", weight {plugin.weight}" if plugin.weight else "")
        for profile in loaded
        for plugin in profile.plugins
        if plugin.name == name
    ]
    if not places:
        message = "no profile has switched it on, by /configz"
        finding = about(node, "N127", f"{name}: {message}", _HINT)
        return checked(node.label, subject, message, [finding])
    return checked(node.label, subject, f"/configz: {several(places, 3)}")


def _from_log(node: NodeFacts, expected: Expected, seen: Inspection, why: str) -> Iterator[Check]:
    names = [f"profile {profile['schedulerName']}" for profile in profiles_of(expected.config)]
    lines = log_lines(seen.log)
    for subject in (*names, *(f"plugin {name}" for name in wanted_plugins(expected))):
        word = subject.partition(" ")[2]
        line = next((line for line in lines if word in line), None)
        if line is not None:
            yield checked(node.label, subject, f"its log names it ({why}): {shortened(line, 120)}")
        else:
            hint = "--v=2 makes the scheduler log its profiles"
            yield unchecked(node.label, subject, f"{why}; its log does not name it ({hint})")
