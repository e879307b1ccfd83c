"""The two ways to write an Ansible inventory, read into groups with their hosts and settings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from kschedpatch.core.yamltext.nodes import Mapping, Node, Scalar

_MAX_HOSTS = 1000
_RANGE = re.compile(r"\[([0-9]+|[A-Za-z]):([0-9]+|[A-Za-z])(?::([0-9]+))?]", re.ASCII)
_SECTION = re.compile(r"\[([^]:\s]+)(?::(children|vars))?]\s*(?:[#;].*)?", re.ASCII)


class Bad(Exception):
    """What is wrong, and in which line (0: in the file as a whole)."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


class Setting(NamedTuple):
    value: str
    line: int


class Host(NamedTuple):
    line: int
    settings: dict[str, Setting]


class Group(NamedTuple):
    line: int
    hosts: dict[str, Host]
    children: dict[str, int]
    settings: dict[str, Setting]


def looks_like_yaml(name: str, text: str) -> bool:
    if name.endswith((".yaml", ".yml", ".json")):
        return True
    if name.endswith((".ini", ".cfg")):
        return False
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "#;"), "")
    return first == "---" or first.startswith("{") or first.endswith(":")


def expanded(pattern: str, line: int) -> Iterator[str]:
    """``cp[1:3]`` and ``cp-[a:c]``; leading zeros are kept; several ranges multiply."""
    match = _RANGE.search(pattern)
    if match is None:
        # An IPv6 address in brackets is no range.
        yield pattern
        return
    first, last, step = match[1], match[2], int(match[3] or 1)
    numbers = first.isdigit()
    if numbers != last.isdigit() or step == 0 or len(first) > 9 or len(last) > 9:
        raise Bad(line, f"{match[0]} is no range of hosts")
    start, end = (int(first), int(last)) if numbers else (ord(first), ord(last))
    if not 0 <= end - start < _MAX_HOSTS * step:
        raise Bad(line, f"{match[0]} is no range of hosts, or more than {_MAX_HOSTS}")
    width = len(first) if first.startswith("0") else 0
    for at in range(start, end + 1, step):
        middle = str(at).zfill(width) if numbers else chr(at)
        yield from expanded(pattern[: match.start()] + middle + pattern[match.end() :], line)


class _Groups:
    def __init__(self) -> None:
        self.found: dict[str, Group] = {}
        self._count = 0

    def group(self, name: str, line: int) -> Group:
        return self.found.setdefault(name, Group(line, {}, {}, {}))

    def add_hosts(
        self, group: Group, pattern: str, settings: dict[str, Setting], line: int
    ) -> None:
        for name in expanded(pattern, line):
            self._count += 1
            if self._count > _MAX_HOSTS:
                raise Bad(line, f"more than {_MAX_HOSTS} hosts")
            group.hosts.setdefault(name, Host(line, {})).settings.update(settings)


def read_ini(text: str) -> dict[str, Group]:
    groups = _Groups()
    group, kind = groups.group("ungrouped", 0), ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and (section := _SECTION.fullmatch(line)) is not None:
            group, kind = groups.group(section[1], number), section[2] or ""
        elif kind == "children":
            group.children[_words(line, number)[0]] = number
        elif kind == "vars":
            name, equals, value = line.partition("=")
            if not equals:
                raise Bad(number, f"{line!r} is no setting: write name=value")
            group.settings[name.strip()] = Setting(_unquoted(value.strip()), number)
        elif line[0] == "[" and not _RANGE.match(line) and ":" not in line.partition("]")[0]:
            raise Bad(number, f"{line!r} is no name of a group")
        else:
            host, *pairs = _words(line, number)
            groups.add_hosts(group, host, dict(_settings(pairs, number)), number)
    return groups.found


def _words(line: str, number: int) -> list[str]:
    try:
        return shlex.split(line, comments=True) or [""]
    except ValueError:
        raise Bad(number, "a quote is not closed") from None


def _settings(pairs: list[str], number: int) -> Iterator[tuple[str, Setting]]:
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals and "{{" in "".join(pairs):
            raise Bad(number, "a template ({{ … }}), and none is evaluated; write the value itself")
        if not equals:
            raise Bad(number, f"{pair!r} is no setting: write name=value")
        yield name, Setting(value, number)


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value


def read_yaml(data: bytes) -> dict[str, Group]:
    from kschedpatch.core.yamltext.reader import read

    reading = read(data)
    if not reading.documents:
        if not reading.findings:
            raise Bad(0, "it is empty")
        last = reading.findings[-1]  # the one that ended the reading
        raise Bad(last.line, last.message)
    groups = _Groups()
    for name, node, line in _entries(reading.documents[0], "the inventory"):
        _read_group(groups, name, node, line)
    return groups.found


def _read_group(groups: _Groups, name: str, node: Node, line: int) -> None:
    group = groups.group(name, line)
    for part, value, _ in _entries(node, f"the group {name}"):
        if part == "hosts":
            for pattern, settings, at in _entries(value, f"the hosts of {name}"):
                what = f"the host {pattern}"
                found = {key: _setting(item) for key, item, _ in _entries(settings, what)}
                groups.add_hosts(group, pattern, found, at)
        elif part == "children":
            for child, inner, at in _entries(value, f"the children of {name}"):
                group.children[child] = at
                _read_group(groups, child, inner, at)
        elif part == "vars":
            for key, item, _ in _entries(value, f"the vars of {name}"):
                group.settings[key] = _setting(item)


def _entries(node: Node, what: str) -> Iterator[tuple[str, Node, int]]:
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield entry.name, entry.value, entry.key.line + 1
    elif not (isinstance(node, Scalar) and node.value is None):
        raise Bad(node.line + 1, f"{what} should be a mapping")


def _setting(node: Node) -> Setting:
    return Setting(str(node.value) if isinstance(node, Scalar) else "", node.line + 1)
