"""Nodes as people write them, and what is no node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedpatch.inputs.nodeaddresses import NoAddress, parse_address, parse_addresses


@pytest.mark.parametrize(
    "text, host, port, user",
    [
        ("cp1", "cp1", None, None),
        ("cp1.example.com:2222", "cp1.example.com", 2222, None),
        ("root@10.0.0.1", "10.0.0.1", None, "root"),
        ("core@cp_1:22", "cp_1", 22, "core"),
        ("first.last@corp@bastion", "bastion", None, "first.last@corp"),
        ("::1", "::1", None, None),
        ("fe80::1%eth0", "fe80::1%eth0", None, None),
        ("[::1]", "::1", None, None),
        ("root@[fd00::2]:2222", "fd00::2", 2222, "root"),
        ("root@fd00::2", "fd00::2", None, "root"),
        ("ssh://cp1", "cp1", None, None),
        ("ssh://root@cp1:2222/", "cp1", 2222, "root"),
        ("ssh://root@[::1]:2222", "::1", 2222, "root"),
        ("ssh://a%40corp@cp1", "cp1", None, "a@corp"),
    ],
)
def test_addresses(text: str, host: str, port: int | None, user: str | None) -> None:
    assert parse_address(text) == (host, port, user, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-oProxyCommand=reboot",
        "root@-oProxyCommand=reboot",
        "-l@cp1",
        "a b",
        "cp1\n",
        "cp1\x1b[2J",
        "@cp1",
        "root@",
        "cp1:",
        "cp1:0",
        "cp1:65536",
        "cp1:ssh",
        "cp1:٢٢",
        "[::1",
        "[cp1]:22",
        "[::1]:",
        "1::2::3",
        "fe80::1%-x",
        "cp..1",
        "cp1/etc",
        "$(reboot)",
        "`id`@cp1",
        "http://cp1",
        "ssh://cp1/path",
        "ssh://cp1:99999",
        "ssh://root:geheim@cp1",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(NoAddress) as raised:
        parse_address(text)
    assert "geheim" not in str(raised.value)


def test_a_node_that_is_written_twice_is_one() -> None:
    found = parse_addresses(["cp2", "cp1", "CP2", "root@cp2", "cp2:22", "cp1"])
    assert [node.label for node in found] == ["cp2", "cp1", "root@cp2", "cp2:22"]


@given(st.text(max_size=40))
def test_whatever_is_written_becomes_no_option_and_no_command(text: str) -> None:
    try:
        found = parse_address(text)
    except NoAddress:
        return
    assert not found.host.startswith("-")
    assert not (found.user or "").startswith("-")
    assert not set(found.host) & set(" \n\t'\"`$;&|<>()\\")
    assert found.host.isascii()
