"""status --watch: connections that stay, nodes that come and go, and what is written where."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kschedpatch.core.fleet.standing import statuses
from kschedpatch.model import exitcodes
from kschedpatch.model.codes import found
from kschedpatch.model.facts import Hashes, NodeFacts
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.model.outcome import Outcome
from kschedpatch.node.errors import ConnectionLost, Unreachable
from kschedpatch.report.statuses import status_data
from kschedpatch.report.watchview import Changes, Documents, Sight, screen
from kschedpatch.rollout import watching
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.watching import Watch
from tests.printed import check, check_printed
from tests.unit.fleet.nodes import node
from tests.unit.fleet.test_verifying import patched


class Host:
    """A node at the other end of a connection."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_on = True
        self.connections = 0
        self.closed = 0
        self.asked: list[tuple[bool, Hashes]] = []
        self.hangs: threading.Event | None = None
        self.facts_now = node(name).facts

    def connect(self) -> Connection:
        if not self.is_on:
            raise Unreachable(f"{self.name}: no route to host")
        self.connections += 1
        return Connection(self)


class Connection:
    def __init__(self, host: Host) -> None:
        self.host = host

    def facts(self, *, api: bool, hashes: Hashes) -> NodeFacts:
        self.host.asked.append((api, hashes))
        if self.host.hangs is not None:
            self.host.hangs.wait(30)
        if not self.host.is_on:
            raise ConnectionLost(f"{self.host.name}: the connection was lost")
        return self.host.facts_now._replace(api_answers=api)

    def close(self) -> None:
        self.host.closed += 1


@pytest.fixture
def hosts() -> dict[str, Host]:
    return {name: Host(name) for name in ("cp1", "cp2", "cp3")}


@pytest.fixture
def fleet(hosts: dict[str, Host]) -> Iterator[Fleet]:
    def opened(address: NodeAddress) -> Any:
        return hosts[address.host].connect()

    with Fleet([NodeAddress(name, None, None, name) for name in hosts], opened) as fleet:
        yield fleet


def labels(fleet: Fleet) -> tuple[list[str], list[str]]:
    return [facts.label for facts in fleet.facts], [*fleet.failures]


def test_connections_stay_open(fleet: Fleet, hosts: dict[str, Host]) -> None:
    watch = Watch(fleet)
    for _ in range(4):
        watch.round(Cancel())
        assert labels(fleet) == (["cp1", "cp2", "cp3"], [])
    assert [host.connections for host in hosts.values()] == [1, 1, 1]


def test_a_node_that_goes_and_comes_back(fleet: Fleet, hosts: dict[str, Host]) -> None:
    watch = Watch(fleet)
    hosts["cp2"].is_on = False
    for _ in range(3):
        watch.round(Cancel())
        assert labels(fleet) == (["cp1", "cp3"], ["cp2"])
    assert (hosts["cp2"].connections, hosts["cp2"].closed) == (1, 1)
    hosts["cp2"].is_on = True
    watch.round(Cancel())
    assert labels(fleet) == (["cp1", "cp2", "cp3"], [])
    assert hosts["cp2"].connections == 2
    assert hosts["cp1"].connections == 1


def test_a_node_that_was_never_reached_is_tried_again(hosts: dict[str, Host]) -> None:
    hosts["cp1"].is_on = False
    addresses = [NodeAddress("cp1", None, None, "cp1")]
    opened: Any = lambda address: hosts[address.host].connect()  # noqa: E731
    with Fleet(addresses, opened) as fleet:
        watch = Watch(fleet)
        watch.round(Cancel())
        assert labels(fleet) == ([], ["cp1"])
        hosts["cp1"].is_on = True
        watch.round(Cancel())
        assert labels(fleet) == (["cp1"], [])


def test_a_node_that_hangs_holds_up_one_round(
    fleet: Fleet, hosts: dict[str, Host], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "PATIENCE", 0.3)
    hosts["cp3"].hangs = threading.Event()
    watch = Watch(fleet)
    for _ in range(3):
        watch.round(Cancel())
        assert labels(fleet) == (["cp1", "cp2"], ["cp3"])
        assert "no answer for" in str(fleet.failures["cp3"])
    assert len(hosts["cp3"].asked) == 1, "it is not asked again before it has answered"
    hosts["cp3"].hangs.set()
    monkeypatch.setattr(watching, "PATIENCE", 20.0)
    hosts["cp3"].hangs = None
    for _ in range(50):
        watch.round(Cancel())
        if labels(fleet)[1] == []:
            break
    assert labels(fleet) == (["cp1", "cp2", "cp3"], [])


def test_a_stop_does_not_wait_for_a_node(fleet: Fleet, hosts: dict[str, Host]) -> None:
    hosts["cp1"].hangs = threading.Event()
    cancel = Cancel()
    cancel.ask()
    assert Watch(fleet).round(cancel) is False
    hosts["cp1"].hangs.set()


def test_what_costs_much_is_looked_at_now_and_then(
    fleet: Fleet, hosts: dict[str, Host], monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts["cp1"].facts_now = patched().facts._replace(generation_problem="x: FAILED")
    watch = Watch(fleet)
    assert watch.round(Cancel()) is True
    hosts["cp1"].facts_now = patched().facts
    assert watch.round(Cancel()) is False
    assert fleet.facts[0].generation_problem == "x: FAILED", "of the last thorough look"
    assert [hashes for _, hashes in hosts["cp1"].asked] == [Hashes.CURRENT, Hashes.NONE]
    assert [host.asked[1][0] for host in hosts.values()] == [True, False, False]
    monkeypatch.setattr(watching, "THOROUGH", 0.0)
    assert watch.round(Cancel()) is True
    assert fleet.facts[0].generation_problem == ""


def sight(*facts: NodeFacts, **fields: Any) -> Sight:
    told = statuses(facts)
    return Sight(told, Outcome("StatusResult", data=status_data(told), **fields))


def test_without_a_terminal_a_block_for_each_change() -> None:
    stream = io.StringIO()
    show = Changes(stream)
    open_one = patched().open_run()
    for left in (90, 88, 86):
        show(sight(open_one.open_run(deadline_in=left).but(clock=left).facts))
    assert stream.getvalue().count("NODE") == 1
    show(sight(patched().facts))
    show(sight(patched().facts, findings=(found("N110", "\x1b[2J"),)))
    text = stream.getvalue()
    assert text.count("NODE") == 3
    assert "\x1b" not in text
    assert "warning N110" in text


def test_documents_are_one_a_line() -> None:
    stream = io.StringIO()
    show = Documents(stream, yaml=False)
    show(sight(patched().facts))
    show(sight(patched().facts, code=3))
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first["kind"] == "StatusResult"
    assert first["nodes"] == second["nodes"]
    assert (first["exitCode"], second["exitCode"]) == (0, 3)
    check(first)
    check(second)
    stream = io.StringIO()
    Documents(stream, yaml=True)(sight(patched().facts))
    assert stream.getvalue().startswith("---\napiVersion: ")
    check_printed(("-o", "yaml"), stream.getvalue(), "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_it_is_redrawn_and_the_cursor_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    with screen(stream, 2) as show:
        show(sight(patched().facts))
        show(sight(patched().facts))
    text = stream.getvalue()
    assert text.index("\x1b[?25l") < text.rindex("\x1b[?25h"), "hidden, and shown again"
    assert "every 2 s; Ctrl-C ends" in text
    assert text.count("NODE") >= 2
    plain = io.StringIO()
    with screen(plain, 2) as show:
        show(sight(patched().facts))
    assert "\x1b" not in plain.getvalue()


def watch_command(*more: str) -> list[str]:
    """Of a node where nobody listens: it is a row all the same."""
    return [sys.executable, "-m", "kschedpatch", "status", "127.0.0.1:1", "--watch", "-q", *more]


def test_ctrl_c_at_a_real_terminal() -> None:
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    command = watch_command("--interval", "0.2")
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as ran:
        os.close(theirs)
        text, asked = "", False
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            text += part.decode()
            if "not reached" in text and not asked:
                asked = True
                ran.send_signal(signal.SIGINT)
        assert ran.wait(30) == exitcodes.INTERRUPTED, text
    os.close(ours)
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l"), "the cursor is there again"
    assert "Traceback" not in text


def test_it_ends_with_its_reader() -> None:
    command = watch_command("--interval", "0.2", "-o", "json")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
        assert ran.stdout is not None
        first = json.loads(ran.stdout.readline())
        ran.stdout.close()
        assert ran.wait(30) == exitcodes.OK
    assert [item["state"] for item in first["nodes"]] == ["not reached"]
    check(first)
