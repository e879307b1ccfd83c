"""The control plane of an Ansible inventory; what is wrong with one is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kschedpatch.inputs.inventory import BadInventory, read_inventory
from kschedpatch.model.nodeaddress import NodeAddress

INI = """\
# comment
bastion ansible_host=192.0.2.1

[all:vars]
ansible_user=core
ansible_port = 2200

[kube_control_plane]
cp1 ansible_host=10.0.0.1 ip=10.0.0.1 # the first
cp[2:3].example.com ansible_port=22 ansible_user='root'

[kube_control_plane:children]
more

[more]
cp-[a:b]

[more:vars]
ansible_user="ubuntu"

[kube_node]
worker1
"""
YAML = """\
all:
  vars: {ansible_user: core, ansible_port: 2200}
  hosts:
    bastion: {ansible_host: 192.0.2.1}
    cp1:
      ansible_host: 10.0.0.1
      secret: !vault hidden
  children:
    kube_control_plane:
      hosts:
        cp1:
        cp[2:3].example.com: {ansible_port: 22, ansible_user: root}
      children:
        more:
          hosts:
            cp-[a:b]:
          vars:
            ansible_user: ubuntu
    kube_node:
      hosts: {worker1: }
"""
NODES = (
    NodeAddress("10.0.0.1", 2200, "core", "cp1"),
    NodeAddress("cp2.example.com", 22, "root", "cp2.example.com"),
    NodeAddress("cp3.example.com", 22, "root", "cp3.example.com"),
    NodeAddress("cp-a", 2200, "ubuntu", "cp-a"),
    NodeAddress("cp-b", 2200, "ubuntu", "cp-b"),
)


def written(directory: Path, text: str, name: str) -> str:
    path = directory / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    "name, text",
    [("hosts.ini", INI), ("hosts", INI), ("hosts.yaml", YAML), ("hosts", YAML), ("x.yml", YAML)],
)
def test_both_formats_say_the_same(name: str, text: str, tmp_path: Path) -> None:
    inventory = read_inventory(written(tmp_path, text, name))
    assert inventory.group == "kube_control_plane"
    assert inventory.nodes == NODES


@pytest.mark.parametrize(
    "pattern, names",
    [
        ("cp[1:3]", ["cp1", "cp2", "cp3"]),
        ("cp[08:10]", ["cp08", "cp09", "cp10"]),
        ("cp[1:7:3]", ["cp1", "cp4", "cp7"]),
        ("[a:b]-[1:2]", ["a-1", "a-2", "b-1", "b-2"]),
        ("cp1:2222", ["cp1:2222"]),
    ],
)
def test_ranges(pattern: str, names: list[str], tmp_path: Path) -> None:
    text = f"[kube_control_plane]\n{pattern}\n"
    nodes = read_inventory(written(tmp_path, text, "hosts.ini")).nodes
    assert [node.label for node in nodes] == names


@pytest.mark.parametrize("group", ["kube-master", "control_plane"])
def test_other_names_of_the_group(group: str, tmp_path: Path) -> None:
    inventory = read_inventory(written(tmp_path, f"[{group}]\ncp1\n", "hosts"))
    assert inventory.group == group
    assert inventory.nodes == (NodeAddress("cp1", None, None, "cp1"),)


def test_what_is_not_read_is_said(tmp_path: Path) -> None:
    text = "[kube_control_plane]\ncp1 ansible_ssh_common_args='-J bastion'\n"
    (note,) = read_inventory(written(tmp_path, text, "hosts")).notes
    assert "ansible_ssh_common_args" in note


def test_ipv6(tmp_path: Path) -> None:
    text = "[kube_control_plane]\ncp1 ansible_host=fd00::1 ansible_port=2222\n"
    assert read_inventory(written(tmp_path, text, "hosts")).nodes[0][:2] == ("fd00::1", 2222)


HEAD = "[kube_control_plane]\n"


@pytest.mark.parametrize(
    "text, name, words",
    [
        (HEAD + "cp1 ansible_host={{ ip }}\n", "hosts", [":2:", "{{", "evaluated"]),
        (HEAD + "cp1\n[all:vars]\nansible_user={{ me }}\n", "hosts", [":4:", "evaluated"]),
        (HEAD + "cp1 ansible_port=ssh\n", "hosts", [":2:", "'ssh'"]),
        (HEAD + "cp1\n\ncp2 ansible_host=-oProxyCommand=x\n", "hosts", [":4:", "dash"]),
        (HEAD + "cp1 ansible_user='a b'\n", "hosts", [":2:"]),
        (HEAD + "cp1 'open\n", "hosts", [":2:", "quote"]),
        (HEAD + "cp1 what\n", "hosts", [":2:", "'what'"]),
        (HEAD + "cp[3:1]\n", "hosts", [":2:", "[3:1]"]),
        (HEAD + "cp[1:99999999]\n", "hosts", [":2:", "1000"]),
        (HEAD + "c[1:99][1:99]\n", "hosts", [":2:", "1000"]),
        (HEAD + "cp1 ansible_connection=local\n", "hosts", [":2:", "--local"]),
        (HEAD, "hosts", [":1:", "has no hosts"]),
        ("[workers]\nw1\n", "hosts", ["kube_control_plane", "kube-master", "workers"]),
        ("[a b]\nw1\n", "hosts", [":1:"]),
        ("[kube_control_plane:children]\na\n[a:children]\na\n", "hosts", ["circle"]),
        ("all: [1]\n", "h.yaml", [":1:", "mapping"]),
        ("all:\n  hosts: {a: &x b}\n  vars: *x\n", "h.yaml", [":3:", "alias"]),
        ("a: b: c\n", "h.yaml", [":1:"]),
        ("", "h.yaml", []),
        ("#!/usr/bin/env python\n", "hosts", ["program"]),
        ("x" * 200_000, "hosts", ["larger"]),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    text: str, name: str, words: list[str], tmp_path: Path
) -> None:
    with pytest.raises(BadInventory) as raised:
        read_inventory(written(tmp_path, text, name))
    assert name in str(raised.value)
    assert [word for word in words if word not in str(raised.value)] == []


def test_a_directory_or_nothing(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(BadInventory):
            read_inventory(str(path))
