"""Judges a Policy by the rules of 1.22, the last minor that reads one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kschedpatch.core.schedconfig.extenders import extender_problems
from kschedpatch.core.schedconfig.pluginargs import (
    Setting,
    args_problems,
    shape_problems,
    weight_problems,
)
from kschedpatch.core.schedconfig.policy import names
from kschedpatch.core.schedconfig.policy.names import (
    EQUAL_PRIORITY,
    NEED_ARGUMENT,
    PREDICATES,
    PRIORITIES,
)
from kschedpatch.core.schedconfig.policy.read import LAST_MINOR, PolicyText, policy_as_read
from kschedpatch.core.schedconfig.policy.selection import (
    Selection,
    predicate_of,
    priority_of,
    select,
)
from kschedpatch.core.schedconfig.tls import client_tls
from kschedpatch.core.yamltext.goyaml.reading import read_as_go
from kschedpatch.core.yamltext.nodes import same
from kschedpatch.model.finding import Finding, Path, has_errors, in_reading_order

_SETTING = Setting("v1beta1", LAST_MINOR, frozenset())
_MAX_WEIGHT = (2**63 - 1) // 10


def judge_policy(data: bytes, file: str) -> tuple[Finding, ...]:
    """What 1.22 says to a Policy file: an error is what it refuses, or breaks on."""
    reading = policy_as_read(read_as_go(data, json_as_yaml_too=True), file)
    findings = list(reading.findings)
    # What can't be decoded is not looked at any further: its rules would speak of what is missing.
    if reading.policy is not None and not has_errors(findings):
        findings += policy_findings(reading.policy)
    return in_reading_order(findings)


def policy_findings(policy: PolicyText) -> Iterator[Finding]:
    selection = select(policy.value)
    yield from _predicate_findings(policy)
    yield from _priority_findings(policy)
    yield from _custom_priority_findings(policy)
    yield from _argument_findings(policy, selection)
    yield from _extender_findings(policy, selection)
    hard = policy.value.get("hardPodAffinitySymmetricWeight", 0)
    if not 0 <= hard <= 100:
        path: Path = ("hardPodAffinitySymmetricWeight",)
        yield policy.places.at("L005", path, f"{hard} is not between 0 and 100")


def _items(policy: PolicyText, kind: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    for index, item in enumerate(policy.value.get(kind) or ()):
        yield (kind, index), item or {}


def _predicate_findings(policy: PolicyText) -> Iterator[Finding]:
    for path, item in _items(policy, "predicates"):
        yield from _one_argument(policy, path, item)
        if predicate_of(item) is None:
            yield _unknown_name(policy, path, item, "predicates")


def _priority_findings(policy: PolicyText) -> Iterator[Finding]:
    for path, item in _items(policy, "priorities"):
        weight = item.get("weight", 0)
        if not 0 < weight < _MAX_WEIGHT:
            message = f"the weight of {item.get('name', '')} is {weight}: it must be 1 or more"
            yield policy.places.at("L005", (*path, "weight"), message)
        if item.get("name") == EQUAL_PRIORITY:
            if item.get("argument") == {}:
                yield _no_argument(policy, path)
            continue
        yield from _one_argument(policy, path, item)
        if priority_of(item) is None:
            yield _unknown_name(policy, path, item, "priorities")


def _one_argument(policy: PolicyText, path: Path, item: dict[str, Any]) -> Iterator[Finding]:
    argument = item.get("argument")
    if argument is not None and len(argument) != 1:
        yield _no_argument(policy, path)


def _no_argument(policy: PolicyText, path: Path) -> Finding:
    return policy.places.at("L006", (*path, "argument"), "exactly one argument is needed here")


def _unknown_name(policy: PolicyText, path: Path, item: dict[str, Any], kind: str) -> Finding:
    name = item.get("name", "")
    what = kind[:-1] if kind == "predicates" else "priority"
    message = f"1.22 has no {what} {name!r}" if name else f"a {what} without a name"
    return policy.places.at("L002", (*path, "name"), message, names.advice(name, kind))


def _custom_priority_findings(policy: PolicyText) -> Iterator[Finding]:
    """Several of one kind share a plugin: their weights must agree, or there may be only one."""
    seen: dict[str, dict[str, Any]] = {}
    for path, item in _items(policy, "priorities"):
        argument = item.get("argument") or {}
        # The order in which 1.22 looks: the first that is there decides.
        kinds = ("labelPreference", "serviceAntiAffinity", "requestedToCapacityRatioArguments")
        kind = next((kind for kind in kinds if kind in argument), None)
        if kind is None:
            continue
        before = seen.get(kind)
        name = item.get("name", "")
        if before is not None and kind == "requestedToCapacityRatioArguments":
            message = f"{name} and {before.get('name', '')} both define it: it can be there once"
            yield policy.places.at("L006", (*path, "argument", kind), message)
            continue
        if before is not None and before.get("weight", 0) != item.get("weight", 0):
            message = f"{name} and {before.get('name', '')} must have the same weight"
            yield policy.places.at("L005", (*path, "weight"), message)
            continue
        seen[kind] = item


def _argument_findings(policy: PolicyText, selection: Selection) -> Iterator[Finding]:
    yield from _void_arguments(policy, selection)
    labels = selection.args.get("NodeLabel", {})
    for place, message in args_problems("NodeLabel", labels, _SETTING):
        kind = "priorities" if str(place[0]).endswith("Preference") else "predicates"
        yield policy.places.at("L006", (kind,), message)
    for path, item in _items(policy, "priorities"):
        argument = (item.get("argument") or {}).get("requestedToCapacityRatioArguments")
        # A void argument (the name is in the table) is not looked at.
        if argument is not None and same(argument, selection.args.get("RequestedToCapacityRatio")):
            here = (*path, "argument", "requestedToCapacityRatioArguments")
            yield from _ratio_findings(policy, here, argument)


def _void_arguments(policy: PolicyText, selection: Selection) -> Iterator[Finding]:
    """A plugin that only an argument defines, asked for by the table's name: then 1.22 does not
    look at the argument, and has none. It ends there, with an error or a crash."""
    for kind, of, plugins in (
        ("predicates", predicate_of, {name: used[0] for name, used in PREDICATES.items()}),
        ("priorities", priority_of, PRIORITIES),
    ):
        for path, item in _items(policy, kind):
            name = of(item)
            if name in NEED_ARGUMENT and plugins[name] not in selection.args:
                argument = NEED_ARGUMENT[name]
                message = f"{item.get('name')} has no arguments: 1.22 fails on it"
                hint = f"give it a name of your own and the argument {argument}"
                yield policy.places.at("L006", (*path, "name"), message, hint)


def _ratio_findings(policy: PolicyText, path: Path, argument: dict[str, Any]) -> Iterator[Finding]:
    # A weight that is not there is 0 in a Policy; a configuration's becomes 1.
    problems = (
        *shape_problems(argument.get("shape") or [], ("shape",)),
        *weight_problems(argument, None, zero_is_one=False),
    )
    for place, message in problems:
        yield policy.places.at("L006", (*path, *place), message)


def _extender_findings(policy: PolicyText, selection: Selection) -> Iterator[Finding]:
    extenders = policy.value.get("extenders") or ()
    for _, path, message in extender_problems(extenders):
        yield policy.places.at("L007", path, message)
    for path, extender in _items(policy, "extenders"):
        for index, resource in enumerate(extender.get("managedResources") or ()):
            if resource.get("ignoredByScheduler") and "NodeResourcesFit" not in selection.filters:
                here = (*path, "managedResources", index, "name")
                message = "ignoredByScheduler needs the predicate that it limits"
                yield policy.places.at("L007", here, message, "add PodFitsResources")
        for key, message in client_tls(as_configured(extender)).problems:
            yield policy.places.at("L007", (*path, "tlsConfig", key), message)


def as_configured(extender: Mapping[str, Any]) -> dict[str, Any]:
    """The one field of an extender that a configuration spells in another way."""
    return {"enableHTTPS" if k == "enableHttps" else k: item for k, item in extender.items()}
