"""The clusters that `make outage` boots: taken down whatever happens, never those of others."""

from __future__ import annotations

import contextlib
import signal
import sys
from types import SimpleNamespace

import pytest

from tests.e2e.cluster.console import RigError
from tests.e2e.outage import __main__ as outage
from tests.e2e.outage.table import EXIT_CODES, Run, Way


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done to clusters, in order."""
    said: list[str] = []

    class NoReaper:
        def __init__(self, run: str) -> None:
            pass

        def dismiss(self) -> None:
            said.append("dismissed")

    def bring_up(minor: str, nodes: int, *, run: str, keep: bool) -> SimpleNamespace:
        assert not keep
        said.append(f"up {minor} {nodes}")
        return SimpleNamespace(version=SimpleNamespace(release=f"{minor}.9"), nodes=nodes)

    monkeypatch.setattr(outage, "Reaper", NoReaper)
    monkeypatch.setattr(outage, "bring_up", bring_up)
    monkeypatch.setattr(outage, "take_down", lambda: said.append("down"))
    monkeypatch.setattr(outage, "exclusive", contextlib.nullcontext)
    monkeypatch.setattr(outage, "refuse_beside_kept", lambda: None)
    monkeypatch.setattr(outage, "why_not_here", lambda: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    return said


def start(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["outage", *words])
    return outage.main()


def measured(lost: int = 0) -> object:
    def measure(cluster: SimpleNamespace, ways: list[Way], repeat: int, runs: list[Run]) -> None:
        for way in ways:
            code = EXIT_CODES.get(way)
            runs.append(Run(cluster.nodes, way, 1, 30.0, 30.0, 9, 9 - lost, 0, code))

    return measure


def test_one_node_then_three_in_one_table(
    told: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(outage, "_measure", measured())
    assert start(monkeypatch, "--kubernetes", "1.34") == 0
    assert told == ["up 1.34 1", "down", "dismissed", "up 1.34 3", "down", "dismissed"]
    shown = capsys.readouterr().out
    assert "Kubernetes 1.34.9; 5 of each way" in shown
    assert shown.index("one control-plane node") < shown.index("three control-plane nodes")


def test_one_size_and_some_ways(
    told: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(outage, "_measure", measured())
    assert start(monkeypatch, "--nodes", "3", "--ways", "bd") == 0
    assert [word for word in told if word.startswith("up")] == ["up 1.34 3"]
    shown = capsys.readouterr().out
    assert "by hand" not in shown
    assert "one control-plane node" not in shown


def test_a_lost_pod_fails_the_command(told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "_measure", measured(lost=1))
    assert start(monkeypatch, "--nodes", "1") == 1


@pytest.mark.parametrize(("error", "code"), [(RigError("no"), 1), (KeyboardInterrupt(), 130)])
def test_a_cluster_goes_down_however_it_ends_and_shows_what_it_has(
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
) -> None:
    def measure(cluster: SimpleNamespace, ways: list[Way], repeat: int, runs: list[Run]) -> None:
        runs.append(Run(1, Way.HAND, 1, 12.0, 12.0, 9, 9, 0))
        raise error

    monkeypatch.setattr(outage, "_measure", measure)
    assert start(monkeypatch) == code
    assert told == ["up 1.34 1", "down", "dismissed"]
    assert "12.00" in capsys.readouterr().out


def test_a_kept_cluster_is_refused_and_left_alone(
    told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise RigError("a kept cluster is up")

    monkeypatch.setattr(outage, "refuse_beside_kept", refuse)
    assert start(monkeypatch) == 1
    assert told == []
