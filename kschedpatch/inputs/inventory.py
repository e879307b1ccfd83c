"""The control-plane nodes of an Ansible inventory, INI or YAML.

Only what says where a host is gets read. Nothing is evaluated: neither templates nor scripts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kschedpatch.inputs.files import Unreadable, read_bytes
from kschedpatch.inputs.inventoryformats import (
    Bad,
    Group,
    Setting,
    looks_like_yaml,
    read_ini,
    read_yaml,
)
from kschedpatch.inputs.nodeaddresses import NoAddress, distinct, parse_address
from kschedpatch.model.nodeaddress import NodeAddress

#: Kubespray's name today, its former one, and what people write by hand.
GROUPS = ("kube_control_plane", "kube-master", "control_plane")

_MAX_BYTES = 128 * 1024
_MAX_DEPTH = 16

_HOST = ("ansible_host", "ansible_ssh_host")
_PORT = ("ansible_port", "ansible_ssh_port")
_USER = ("ansible_user", "ansible_ssh_user")
_NOT_READ = ("ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_private_key_file")


class BadInventory(Exception):
    """What is wrong with an inventory, with file and line."""


class Inventory(NamedTuple):
    group: str
    nodes: tuple[NodeAddress, ...]
    notes: tuple[str, ...]


def read_inventory(name: str) -> Inventory:
    path = Path(name)
    try:
        data = read_bytes(path, _MAX_BYTES)
        text = data.decode("utf-8")
    except Unreadable as error:
        hint = "; a directory or a script is not read: make it one file" if path.is_dir() else ""
        raise BadInventory(f"--inventory {name}: {error.reason}{hint}") from None
    except UnicodeDecodeError:
        raise BadInventory(f"--inventory {name}: it is not UTF-8 text") from None
    if text.startswith("#!"):
        raise BadInventory(f"--inventory {name}: it is a program, and is not run; save its output")
    try:
        groups = read_yaml(data) if looks_like_yaml(path.name, text) else read_ini(text)
        return _control_plane(groups)
    except Bad as error:
        place = f"{name}:{error.line}" if error.line else name
        raise BadInventory(f"{place}: {error.reason}") from None


def _control_plane(groups: Mapping[str, Group]) -> Inventory:
    for name in GROUPS:
        if name in groups:
            hosts = tuple(dict.fromkeys(_hosts_of(groups, name)))
            if hosts:
                notes: list[str] = []
                nodes = distinct(_address(groups, host, notes) for host in hosts)
                return Inventory(name, nodes, tuple(dict.fromkeys(notes)))
    empty = [name for name in GROUPS if name in groups]
    if empty:
        raise Bad(groups[empty[0]].line, f"the group {empty[0]} has no hosts")
    there = ", ".join(sorted(name for name in groups if name not in {"all", "ungrouped"})[:10])
    tried = ", ".join(GROUPS)
    raise Bad(0, f"none of the groups {tried} is in it; it has: {there or 'no group at all'}")


def _hosts_of(groups: Mapping[str, Group], name: str, depth: int = 0) -> Iterator[str]:
    group = groups.get(name)
    if group is None:
        return
    if depth > _MAX_DEPTH:
        raise Bad(group.line, f"the group {name} is nested too deep, or in a circle")
    yield from group.hosts
    for child in group.children:
        yield from _hosts_of(groups, child, depth + 1)


def _address(groups: Mapping[str, Group], host: str, notes: list[str]) -> NodeAddress:
    settings = _settings_of(groups, host)
    line = next(g.hosts[host].line for g in groups.values() if host in g.hosts)
    connection = settings.get("ansible_connection")
    if connection is not None and connection.value == "local":
        raise Bad(connection.line, f"{host} is this machine (ansible_connection): use --local")
    notes += [
        f"{name} of the inventory is not read: say it in the SSH configuration, or by --identity"
        for name in _NOT_READ
        if name in settings
    ]
    where = _plain(settings, _HOST, host)
    user, port = _plain(settings, _USER, host), _plain(settings, _PORT, host)
    if where is not None:
        line = where.line
    try:
        written = where.value if where is not None else host
        found = parse_address(f"[{written}]" if written.count(":") > 1 else written)
        if user is not None:
            line = user.line
            found = found._replace(user=parse_address(f"{user.value}@host").user)
        if port is not None:
            line = port.line
            found = found._replace(port=parse_address(f"host:{port.value}").port)
    except NoAddress as error:
        raise Bad(line, str(error)) from None
    return found._replace(label=host)


def _plain(settings: Mapping[str, Setting], names: tuple[str, ...], host: str) -> Setting | None:
    for name in names:
        setting = settings.get(name)
        if setting is None:
            continue
        if "{{" in setting.value or "{%" in setting.value:
            message = f"{name} of {host} is a template ({setting.value}), and none is evaluated"
            raise Bad(setting.line, f"{message}; write the value itself")
        return setting
    return None


def _settings_of(groups: Mapping[str, Group], host: str) -> dict[str, Setting]:
    """As Ansible has it: `all` first, then from parents to children, the host's own last."""
    settings = dict(groups["all"].settings) if "all" in groups else {}
    depth = {name: _depth(groups, name) for name in groups if name != "all"}
    for name in sorted(depth, key=lambda name: (depth[name], name)):
        if host in _hosts_of(groups, name):
            settings.update(groups[name].settings)
    for group in groups.values():
        if host in group.hosts:
            settings.update(group.hosts[host].settings)
    return settings


def _depth(groups: Mapping[str, Group], name: str, seen: int = 0) -> int:
    if seen > _MAX_DEPTH:
        raise Bad(groups[name].line, f"the group {name} is nested too deep, or in a circle")
    parents = [other for other, group in groups.items() if name in group.children]
    return max((_depth(groups, parent, seen + 1) + 1 for parent in parents), default=0)
