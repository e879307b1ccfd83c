"""A host is called before paramiko is there, and ssh is asked once for a run."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.node import dialing, sshconfig
from kschedpatch.node.connect import connect
from kschedpatch.node.connectoptions import ConnectOptions
from kschedpatch.node.errors import Unreachable
from kschedpatch.node.sshconfig import Destination

CP1 = NodeAddress("cp1", label="cp1")
NOWHERE = Destination("127.0.0.1", 1, "root", (), False, False, (), None, (), (), None, None)


def test_the_host_is_called_before_paramiko_is_loaded() -> None:
    script = (
        "import socket, sys\n"
        "from kschedpatch.model.nodeaddress import NodeAddress\n"
        "from kschedpatch.node import sshconfig\n"
        "from kschedpatch.node.connect import connect\n"
        "from kschedpatch.node.connectoptions import ConnectOptions\n"
        "from tests.unit.node.test_dialing import NOWHERE\n"
        "sshconfig.resolve = lambda *_: NOWHERE\n"
        "def dial(*_):\n"
        "    print('paramiko' in sys.modules); sys.exit()\n"
        "socket.create_connection = dial\n"
        "connect(NodeAddress('cp1'), ConnectOptions())"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_what_ssh_said_serves_until_a_connection_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[NodeAddress] = []

    def resolve(address: NodeAddress, *_: object) -> Destination:
        asked.append(address)
        return NOWHERE._replace(port=2)

    def dialed(destination: Destination, *_: object) -> None:
        raise Unreachable(f"port {destination.port}")

    monkeypatch.setattr(sshconfig, "resolve", resolve)
    monkeypatch.setattr(dialing, "dialed", dialed)
    options = ConnectOptions(found={CP1: NOWHERE})
    with pytest.raises(Unreachable, match="port 1"):
        connect(CP1, options)
    assert asked == []
    with pytest.raises(Unreachable, match="port 2"):
        connect(CP1, options)
    assert asked == [CP1]


def test_what_ssh_said_serves_the_connections_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from kschedpatch.node import route  # with paramiko, which another test must find unloaded

    asked: list[NodeAddress] = []

    def resolve(address: NodeAddress, *_: object) -> Destination:
        asked.append(address)
        return NOWHERE

    monkeypatch.setattr(sshconfig, "resolve", resolve)
    monkeypatch.setattr(dialing, "dialed", lambda *_: None)
    monkeypatch.setattr(
        route, "connected", lambda *_: cast("Any", SimpleNamespace(client=None, release=None))
    )
    options = ConnectOptions(found={})
    for _ in range(3):
        connect(CP1, options)
    assert asked == [CP1]
    for _ in range(2):
        connect(CP1, options._replace(found=None))
    assert asked == [CP1] * 3


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="only Linux has it")
def test_every_answer_is_acknowledged_at_once() -> None:
    """sshd holds a second small answer back until the first is; the kernel lets it wait."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def echo() -> None:
            peer, _ = listener.accept()
            with peer:
                while data := peer.recv(16):
                    peer.sendall(data)

        threading.Thread(target=echo, daemon=True).start()
        host, port = listener.getsockname()
        with dialing.dialed(NOWHERE._replace(host=host, port=port), ConnectOptions(), "cp1") as way:
            modes = []
            for _ in range(4):
                way.sendall(b"x")
                way.recv(16)
                modes.append(way.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))
    assert modes == [1, 1, 1, 1]
