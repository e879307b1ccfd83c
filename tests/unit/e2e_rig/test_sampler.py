"""What the sampler's record calls an outage."""

from __future__ import annotations

from tests.e2e.cluster.sampler import Record, Sample

PORT = 10259
ALL = ("cp1", "cp2", "cp3")


def sample(
    at: float, holder: str | None = "cp1_a", ready: tuple[str, ...] = ALL, renewed: bool = True
) -> Sample:
    return Sample(at, frozenset((node, PORT) for node in ready), holder, renewed)


def record(*samples: Sample) -> Record:
    return Record(samples)


def test_a_holder_that_is_ready_and_renews_is_no_outage() -> None:
    assert record(sample(0.0), sample(0.1), sample(0.2)).outages() == []
    assert record().outage() == 0


def test_an_outage_lasts_from_the_first_bad_sample_to_the_next_good_one() -> None:
    seen = record(
        sample(0.0),
        sample(0.1, holder=""),
        sample(0.2, holder=""),
        sample(0.5, holder="cp2_b"),
        sample(0.6, holder="cp2_b", ready=("cp1",)),
        sample(0.7, holder="cp2_b"),
    )
    assert seen.outages() == [(0.1, 0.5), (0.6, 0.7)]
    assert seen.outage() == 0.4
    assert seen.holders() == ["cp1_a", "cp2_b"]


def test_an_outage_without_an_end_counts_up_to_the_last_sample() -> None:
    assert record(sample(0), sample(1, renewed=False), sample(4, renewed=False)).outage() == 3


def test_a_ready_standby_does_no_work() -> None:
    assert not sample(0, holder="cp1_a", ready=("cp2", "cp3")).working


def test_a_holder_that_stopped_renewing_does_no_work() -> None:
    assert not sample(0, renewed=False).working


def test_nothing_is_said_about_times_without_an_api() -> None:
    seen = record(sample(0), sample(1, holder=None, renewed=False), sample(2))
    assert seen.outages() == []
    assert seen.unready("cp1") == []


def test_one_scheduler_of_several() -> None:
    seen = record(sample(0), sample(1, ready=("cp1", "cp3")), sample(2))
    assert seen.unready("cp2") == [(1, 2)]
    assert seen.unready("cp1") == []
    assert seen.unready("cp1", port=10260) == [(0, 2)]


def test_a_successor_on_the_same_node_is_another_term() -> None:
    assert record(sample(0), sample(1, holder=""), sample(2, holder="cp1_z")).holders() == [
        "cp1_a",
        "cp1_z",
    ]
