"""An operator at the command line, with sandbox nodes at the other end."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.model.events import Listener
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.rollout.fleet import Fleet
from tests.integration.rollout.rig import Rig
from tests.unit.command_line import Ran, run

QUICK = ("--settle", "1", "--confirm-timeout", "900", "--timeout", "90")
BARE = (*QUICK, "--no-preflight", "--no-canary", "--no-probe")


class Desk:
    """An operator with a patch file, and sandbox nodes at the other end."""

    def __init__(self, rig: Rig, directory: Path) -> None:
        self.rig = rig
        self.directory = directory
        self.names = [node.name for node in rig.nodes]
        self.file = directory / "patch.yaml"

    def writes(self, text: bytes) -> str:
        self.file.write_bytes(text)
        return str(self.file)

    def types(self, command: str, *arguments: str, nodes: Sequence[str] | None = None) -> Ran:
        ran = run(command, *(self.names if nodes is None else nodes), *arguments)
        sys.stdout.write(f"{ran.err}\n{ran.out}\n")  # of a test that fails, pytest shows all of it
        return ran

    def data(self, command: str, *arguments: str) -> dict[str, Any]:
        ran = self.types(command, *arguments, "-o", "json")
        assert ran.out, ran.err
        body: dict[str, Any] = json.loads(ran.out)
        assert body["exitCode"] == ran.code
        return body


def sat_down(rig: Rig, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Commands that are typed here reach the nodes of the rig."""

    def opened(
        addresses: Sequence[NodeAddress], _options: object, _become: object, *, listener: Listener
    ) -> Fleet:
        return Fleet(addresses, rig.opened, listener)

    monkeypatch.setattr("kschedpatch.rollout.fleet.open_fleet", opened)
    monkeypatch.setenv("COLUMNS", "80")
    return Desk(rig, directory)
