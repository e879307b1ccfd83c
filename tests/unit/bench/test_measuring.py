"""What the benchmarks compute from what they measure."""

from __future__ import annotations

import pytest

from tests.bench.delayproxy import Connection
from tests.bench.measuring import WIDTH, Settings, interleaved, line_through, medians, table, times


def test_contestants_take_turns_and_the_first_round_does_not_count() -> None:
    order: list[str] = []
    clock = iter(range(100))

    def contestant(name: str) -> int:
        order.append(name)
        return next(clock)

    found = interleaved({"a": lambda: contestant("a"), "b": lambda: contestant("b")}, 2)
    assert order == ["a", "b"] * 3
    assert found == {"a": [2, 4], "b": [3, 5]}


def test_one_slow_round_does_not_change_the_median() -> None:
    assert medians({"a": [1.0, 1.1, 90.0]}) == {"a": 1.1}


def test_the_slope_is_the_number_of_round_trips() -> None:
    points = [(length, 3.0 + 18 * length) for length in (0.0, 0.02, 0.1)]
    line = line_through(points)
    assert line.slope == pytest.approx(18)
    assert line.start == pytest.approx(3)


def test_the_command_line_has_the_last_word_on_rounds() -> None:
    assert Settings().of(3, 9) == 3
    assert Settings(full=True).of(3, 9) == 9
    assert Settings(full=True, rounds=1).of(3, 9) == 1


def test_figures_stand_below_each_other() -> None:
    shown = table(
        "Title",
        ("", "time", "target"),
        [("a", "1.00 s", "≤ 2"), ("longer", "10.00 s", "")],
        "Note.",
    )
    assert shown.splitlines() == [
        "",
        "Title",
        "             time  target",
        "  a        1.00 s  ≤ 2",
        "  longer  10.00 s",
        "  Note.",
    ]


def test_what_is_long_is_wrapped_and_a_row_that_is_too_wide_is_told() -> None:
    shown = table("word " * 40, ("", "x"), [("a", "1")], "note " * 40)
    assert max(len(line) for line in shown.splitlines()) <= WIDTH
    with pytest.raises(ValueError, match="wider than 100 columns"):
        table("", ("", "x"), [("a" * WIDTH, "1")])


def test_a_ratio_without_a_floor_is_none() -> None:
    assert times(3.0, 2.0) == "1.50 ×"
    assert times(3.0, 0.0) == "?"


def test_a_turn_begins_when_the_client_speaks_after_it_has_heard() -> None:
    connection = Connection()
    for heard in (False, False, True, True, False, True):
        (connection.client_hears if heard else connection.client_spoke)()
    assert connection.turns == 2
