"""The ClusterConfiguration that a cluster keeps: what a patch adds to its scheduler, and how that
goes again. The rest of the text stays as it is, byte by byte."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, NamedTuple

from kschedpatch.core.yamltext.nodes import Node, value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.core.yamltext.splice import respell

Value = dict[str, Any]
Item = dict[str, Any]
_OLD_API = "kubeadm.k8s.io/v1beta3"
_ARGUMENTS = "extraArgs"
_LISTS = (_ARGUMENTS, "extraVolumes", "extraEnvs")


class UnreadableConfiguration(Exception):
    """What is kept is not what kubeadm writes."""


class Merged(NamedTuple):
    text: str
    replaced: Value
    """What stood there under the names that were put in, as lists of items."""


def with_scheduler(text: str, scheduler: Value) -> str:
    """The same text with ``scheduler`` (of a fragment) merged into its own: entries of the same
    name are replaced, others stay."""
    return exchanged(text, {}, {}, scheduler).text


def exchanged(text: str, ours: Value, replaced: Value, wanted: Value) -> Merged:
    """Takes away what was put in before (``ours``; ``replaced`` stood there then), and puts in what
    is wanted. An entry that is not as it was put in is somebody else's now, and stays."""
    root, value = _read(text)
    section = value.get("scheduler") or {}
    if not isinstance(section, dict):
        raise UnreadableConfiguration("its scheduler is no mapping")
    changed = copy.deepcopy(section)
    taken: Value = {}
    for key in _LISTS:
        now = _items(section.get(key))
        then = _taken_away(now, _items(ours.get(key)), _items(replaced.get(key)))
        new = _items(wanted.get(key))
        names = {item["name"] for item in new}
        stood = [item for item in then if item["name"] in names]
        if stood:
            taken[key] = stood
        _put(changed, key, _put_in(then, new), value)
    if changed == section:
        return Merged(text, taken)
    document = copy.deepcopy(value)
    document["scheduler"] = changed
    return Merged(respell(text, root, document).text, taken)


def is_older_api(text: str) -> bool:
    """The one in which arguments are a map, and variables have no place."""
    return bool(_read(text)[1].get("apiVersion") == _OLD_API)


def _read(text: str) -> tuple[Node, Value]:
    reading = read(text.encode())
    if len(reading.documents) != 1 or any(finding.is_error for finding in reading.findings):
        raise UnreadableConfiguration("it is no single YAML document")
    root = reading.documents[0]
    value = value_of(root)
    if not isinstance(value, dict) or value.get("kind") != "ClusterConfiguration":
        raise UnreadableConfiguration("it is no ClusterConfiguration")
    return root, value


def _taken_away(now: list[Item], ours: list[Item], replaced: list[Item]) -> list[Item]:
    result = list(now)
    for name in dict.fromkeys(item["name"] for item in ours):
        there = _named(result, name)
        if there and there == _named(ours, name):
            at = result.index(there[0])
            rest = [item for item in result if item["name"] != name]
            before = sum(item["name"] != name for item in result[:at])
            result = [*rest[:before], *_named(replaced, name), *rest[before:]]
    return result


def _put_in(then: list[Item], new: list[Item]) -> list[Item]:
    """Where one of the same name stands, or at the end."""
    result: list[Item] = []
    for item in then:
        ours = _named(new, item["name"])
        result += [item] if not ours else [one for one in ours if one not in result]
    return result + [item for item in new if item not in result]


def _named(items: Iterable[Item], name: object) -> list[Item]:
    return [item for item in items if item["name"] == name]


def _put(section: Value, key: str, items: list[Item], document: Value) -> None:
    """In the spelling of the document's API version: in the older one arguments are a map."""
    if items == _items(section.get(key)):
        return
    if not items:
        section.pop(key, None)
    elif key == _ARGUMENTS and document.get("apiVersion") == _OLD_API:
        section[key] = {item["name"]: item["value"] for item in items}
    else:
        section[key] = items


def _items(listed: Any) -> list[Item]:
    """Arguments as a list of items, whichever way they are written."""
    if isinstance(listed, dict):
        return [{"name": name, "value": value} for name, value in listed.items()]
    if not isinstance(listed, list | tuple):
        return []
    for item in listed:
        if not isinstance(item, dict) or "name" not in item:
            raise UnreadableConfiguration("an entry of its scheduler has no name")
    return [dict(item) for item in listed]
