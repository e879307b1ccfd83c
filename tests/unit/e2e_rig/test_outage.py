"""The table of outages: medians, maxima, targets, and what makes the command fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.e2e.cluster.record import Process, Record, Sample
from tests.e2e.cluster.workload import Placement
from tests.e2e.outage.story import story
from tests.e2e.outage.table import (
    EXIT_CODES,
    TARGETS,
    TITLES,
    Run,
    Target,
    Way,
    over_the_limit,
    report,
)


def run(way: Way, outage: float = 0.0, wait: float = 0.1, nodes: int = 1, number: int = 1) -> Run:
    return Run(nodes, way, number, outage, wait, 50, 50, 0, EXIT_CODES.get(way))


def line_of(text: str, way: Way) -> str:
    [line] = [line for line in text.splitlines() if f"  {way.value}  {TITLES[way]}" in line]
    return " ".join(line.removeprefix(f"  {way.value}  {TITLES[way]}").split())


def test_median_and_maximum_of_each_way() -> None:
    runs = [run(Way.HAND, seconds, seconds / 2) for seconds in (12.0, 15.5, 13.0)]
    assert line_of(report(runs, ""), Way.HAND) == "13.00 15.50 6.50 7.75"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        ((0.3, 0.5, 1.4), "0.50 1.40 median ≤ 0.6, max ≤ 1.5 ✓"),
        ((0.3, 0.5, 1.6), "0.50 1.60 median ≤ 0.6, max ≤ 1.5 ✗"),
        ((0.3, 0.7, 0.8), "0.70 0.80 median ≤ 0.6, max ≤ 1.5 ✗"),
    ],
)
def test_a_target_stands_beside_its_numbers(seconds: tuple[float, ...], shown: str) -> None:
    text = report([run(Way.CANARY, one) for one in seconds], "")
    assert line_of(text, Way.CANARY) == f"{shown} 0.10 0.10 max ≤ 1.5 ✓"


def test_a_target_for_one_node_says_nothing_about_three() -> None:
    runs = [run(Way.NO_CANARY, 9.0, nodes=3)]
    assert line_of(report(runs, ""), Way.NO_CANARY) == "9.00 9.00 0.10 0.10"
    assert over_the_limit(runs[0]) == []
    assert [target.median for target in over_the_limit(run(Way.NO_CANARY, 9.0))] == [4.0]


def test_what_a_bad_patch_may_cost() -> None:
    [target] = [target for target in TARGETS if target.way is Way.BAD]
    assert str(target) == "max ≤ 0"
    assert target.met([0.0, 0.0])
    assert not target.met([0.0, 0.1])


def test_sizes_stand_apart() -> None:
    lines = report([run(Way.BAD), run(Way.BAD, 0.4, nodes=3)], "").splitlines()
    first, second = (
        lines.index(f"{size} control-plane {noun}")
        for size, noun in (("one", "node"), ("three", "nodes"))
    )
    assert first + 2 == second
    assert "✓" in lines[first + 1]
    assert "✗" in lines[second + 1]


def test_a_time_is_no_failure() -> None:
    assert run(Way.CANARY, 30.0, 30.0).failures == []


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (replace(run(Way.CANARY), bound=49), "1 of 50 pods were never bound"),
        (replace(run(Way.CANARY), twice=2), "2 pods were seen on two nodes"),
        (replace(run(Way.CANARY), exit_code=4), "exit code 4, not 0"),
        (replace(run(Way.BAD), exit_code=0), "exit code 0, not 3"),
        (replace(run(Way.HAND), problems=("no end",)), "no end"),
    ],
)
def test_what_is_a_failure(bad: Run, said: str) -> None:
    assert bad.failures == [said]
    assert f"one control-plane node, {bad.way.value}, run 1: {said}" in report([bad], "")


def test_a_run_that_broke_off_is_in_no_median() -> None:
    broken = Run(1, Way.HAND, 2, 0, 0, 0, 0, 0, problems=("no end",))
    assert line_of(report([run(Way.HAND, 12.0), broken], ""), Way.HAND) == "12.00 12.00 0.10 0.10"
    assert "failed:" in report([broken], "")


def test_every_run_is_listed_with_its_pods() -> None:
    text = report([replace(run(Way.BAD, number=3), bound=48, twice=1)], "")
    assert ["1", "d", "3", "0.00", "0.10", "50", "48", "2", "1", "3"] in [
        line.split() for line in text.splitlines()
    ]


def test_only_a_run_over_its_limit_tells_its_story() -> None:
    good = replace(run(Way.CANARY, 1.5), story=("quiet",))
    bad = replace(run(Way.CANARY, 0.2, wait=2.0, number=2), story=("loud",))
    text = report([good, bad, run(Way.CANARY, 0.2, number=3)], "")
    assert "quiet" not in text
    assert "over the limit: one control-plane node, c, run 2\n  loud\n" in text


def test_a_median_that_is_missed_is_explained_by_the_runs_above_it() -> None:
    times = {"one": 0.5, "two": 0.9, "three": 1.1}
    runs = [replace(run(Way.CANARY, time), story=(name,)) for name, time in times.items()]
    told = report(runs, "").splitlines()
    assert [name for name in times if f"  {name}" in told] == ["two", "three"]


def test_the_limit_of_one_run_is_the_maximum_where_there_is_one() -> None:
    assert Target(Way.CANARY, "outage", 0.6, 1.5).limit == 1.5
    assert Target(Way.CANARY, "outage", 4.0, None).limit == 4.0
    assert Target(Way.BAD, "outage", None, 0.0).limit == 0.0


MAIN, CANARY, NEXT = Process("cp1", 10259, 0), Process("cp1", 10269, 1), Process("cp1", 10259, 2)


def seen(at: float, holder: str | None, *ready: Process, renewed: bool = True) -> Sample:
    return Sample(at, frozenset(ready), holder, renewed)


def test_the_story_of_an_outage_names_holders_and_who_was_ready() -> None:
    record = Record(
        (
            seen(0.0, "cp1_aaaaaaaaaaaa", MAIN),
            seen(9.0, "cp1_aaaaaaaaaaaa", MAIN),
            seen(9.1, "cp1_aaaaaaaaaaaa", MAIN, CANARY),
            seen(10.0, "cp1_aaaaaaaaaaaa", CANARY),
            seen(10.1, "", CANARY),
            seen(10.2, "", CANARY),
            seen(10.4, "cp1_cccccccccccc", CANARY),
            seen(10.5, None, CANARY, renewed=False),
            seen(12.0, "cp1_dddddddddddd", NEXT, renewed=False),
            seen(40.0, "cp1_dddddddddddd", NEXT),
        ),
        {"cp1_aaaaaaaaaaaa": frozenset({MAIN}), "cp1_cccccccccccc": frozenset({CANARY})},
    )
    told = story(record, began=9.0)
    assert told[0] == "without a ready lease holder from 3.00 to 31.00 s"
    assert told[-1].split(maxsplit=1)[1] == "lease: cp1_dddddddd = whose?; ready: cp1:10259#2"
    sound = Record(record.samples[:8], record.owners)
    assert story(sound, began=9.0) == [
        "without a ready lease holder from 1.00 to 1.40 s",
        "      0.00  works  lease: cp1_aaaaaaaa = cp1:10259#0; ready: cp1:10259#0",
        "      0.10  works  lease: cp1_aaaaaaaa = cp1:10259#0; ready: cp1:10259#0 cp1:10269#1",
        "      1.00         lease: cp1_aaaaaaaa = cp1:10259#0; ready: cp1:10269#1",
        "      1.10         lease released; ready: cp1:10269#1",
        "      1.40  works  lease: cp1_cccccccc = cp1:10269#1; ready: cp1:10269#1",
        "      1.50         no answer of the API; ready: cp1:10269#1",
    ]


def test_the_story_of_a_pod_that_waited_without_an_outage() -> None:
    owners = {"cp1_a": frozenset({MAIN})}
    record = Record(tuple(seen(float(at), "cp1_a", MAIN) for at in range(20)), owners)
    pods = [Placement("p-1", "fake-1", 0.1, 105.0), Placement("p-2", "fake-1", 2.0, 110.0)]
    told = story(record, 6.0, [*pods, Placement("p-3", None, None, 111.0)], zero=100.0)
    assert told[0] == "p-2, created at 4.00 s, waited 2.00 s"
    assert told[1:] == ["      2.00  works  lease: cp1_a = cp1:10259#0; ready: cp1:10259#0"]
