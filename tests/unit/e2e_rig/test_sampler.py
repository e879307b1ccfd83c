"""What the sampler's record calls an outage, and whose a holder identity is."""

from __future__ import annotations

from tests.e2e.cluster.record import Attribution, Claim, Owners, Process, Record, Sample, node_of

PORT = 10259
CANARY = 10269
ALL = ("cp1", "cp2", "cp3")


def process(node: str, port: int = PORT, epoch: int = 0) -> Process:
    return Process(node, port, epoch)


def sample(
    at: float,
    holder: str | None = "cp1_a",
    ready: tuple[str | Process, ...] = ALL,
    renewed: bool = True,
) -> Sample:
    processes = (process(one) if isinstance(one, str) else one for one in ready)
    return Sample(at, frozenset(processes), holder, renewed)


def record(*samples: Sample, owners: Owners | None = None) -> Record:
    """Every holder is the first process on its port, where nothing else is said."""
    main = {s.holder: frozenset({process(node_of(s.holder))}) for s in samples if s.holder}
    return Record(samples, main if owners is None else owners)


def test_a_holder_that_is_ready_and_renews_is_no_outage() -> None:
    seen = record(sample(0.0), sample(0.1), sample(0.2))
    assert seen.outages() == []
    assert seen.works_now()
    assert record().outage() == 0
    assert not record().works_now()


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
    assert not record(sample(0, holder="cp1_a", ready=("cp2", "cp3"))).works_now()


def test_a_holder_that_stopped_renewing_does_no_work() -> None:
    assert not record(sample(0, renewed=False)).works_now()


def test_a_ready_canary_does_not_work_for_the_dead_holder_beside_it() -> None:
    canary = process("cp1", CANARY)
    owners = {"cp1_a": frozenset({process("cp1")}), "cp1_c": frozenset({canary})}
    seen = record(
        sample(0, ready=("cp1", canary)),
        sample(1, ready=(canary,)),
        sample(3, holder="cp1_c", ready=(canary,)),
        owners=owners,
    )
    assert seen.outages() == [(1, 3)]


def test_a_successor_on_the_same_port_does_not_work_for_the_dead_holder() -> None:
    successor = process("cp1", epoch=1)
    owners = {"cp1_a": frozenset({process("cp1")}), "cp1_b": frozenset({successor})}
    seen = record(
        sample(0, ready=("cp1",)),
        sample(1, ready=(successor,)),
        sample(2, holder="cp1_b", ready=(successor,)),
        owners=owners,
    )
    assert seen.outages() == [(1, 2)]


def test_an_identity_that_is_nobodys_does_no_work() -> None:
    assert record(sample(0), sample(1), owners={}).outages() == [(0, 1)]


def test_an_owner_found_late_counts_from_the_first_appearance() -> None:
    seen = (sample(0), sample(1, holder="cp2_b"), sample(2, holder="cp2_b"))
    first = {"cp1_a": frozenset({process("cp1")})}
    assert record(*seen, owners=first).outages() == [(1, 2)]
    later = first | {"cp2_b": frozenset({process("cp2")})}
    assert record(*seen, owners=later).outages() == []


def test_nothing_is_said_about_times_without_an_api() -> None:
    seen = record(sample(0), sample(1, holder=None, renewed=False), sample(2))
    assert seen.outages() == []
    assert seen.unready("cp1") == []


def test_one_scheduler_of_several() -> None:
    seen = record(sample(0), sample(1, ready=("cp1", "cp3")), sample(2))
    assert seen.unready("cp2") == [(1, 2)]
    assert seen.unready("cp1") == []
    assert seen.unready("cp1", port=10260) == [(0, 2)]


def test_a_reconnected_scheduler_is_ready_all_the_same() -> None:
    assert record(sample(0), sample(1, ready=(process("cp1", epoch=1),))).unready("cp1") == []


def test_a_successor_on_the_same_node_is_another_term() -> None:
    assert record(sample(0), sample(1, holder=""), sample(2, holder="cp1_z")).holders() == [
        "cp1_a",
        "cp1_z",
    ]


class TestAttribution:
    def test_a_claim_counts_when_a_later_reading_names_the_same_holder(self) -> None:
        whose = Attribution()
        whose.claim(Claim("cp1_a", process("cp1"), at=2.0))
        whose.read("cp1_a", began=1.9)
        assert whose.owners == {}
        whose.read("cp1_a", began=2.1)
        assert whose.owners == {"cp1_a": {process("cp1")}}
        assert whose.claims == ()

    def test_a_successors_claim_does_not_get_the_dead_ones_name(self) -> None:
        whose = Attribution()
        whose.claim(Claim("cp1_a", process("cp1", CANARY), at=2.0))
        whose.read("cp1_b", began=2.1)
        assert (whose.owners, whose.claims) == ({}, ())

    def test_of_two_that_claim_the_same_none_is_believed(self) -> None:
        whose = Attribution()
        for port in (PORT, CANARY):
            whose.claim(Claim("cp1_a", process("cp1", port), at=2.0))
        whose.read("cp1_a", began=2.1)
        assert whose.owners == {}
        assert whose.wanted("cp1_a", process("cp1"))

    def test_only_who_may_be_the_owner_is_asked(self) -> None:
        whose = Attribution({"cp1_a": frozenset({process("cp1")})})
        assert not whose.wanted("cp1_a", process("cp1"))
        assert not whose.wanted("cp1_a", process("cp1", CANARY))
        # Reconnected: the same process behind it, perhaps.
        assert whose.wanted("cp1_a", process("cp1", epoch=1))
        assert whose.wanted("cp1_b", process("cp1"))
        assert not whose.wanted("cp2_b", process("cp1"))
        assert not whose.wanted("", process("cp1"))

    def test_a_reconnected_owner_is_added(self) -> None:
        whose = Attribution({"cp1_a": frozenset({process("cp1")})})
        whose.claim(Claim("cp1_a", process("cp1", epoch=1), at=2.0))
        whose.read("cp1_a", began=2.1)
        assert whose.owners["cp1_a"] == {process("cp1"), process("cp1", epoch=1)}
