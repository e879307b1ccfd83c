"""Which kept manifest a rollback leads to, and what stands in its way."""

from __future__ import annotations

import pytest

from kschedpatch.core.fleet.questions import about_manifests
from kschedpatch.core.fleet.rollbacks import Judged, NoTarget, Wanted, judge_target, wanted_of
from kschedpatch.core.fleet.runids import is_run_id, new_run_id
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.kubeversion import KubeVersion
from tests.unit.fleet.nodes import Node, kubeadm_manifest, node
from tests.unit.fleet.test_planning import VERBOSE, planned

FIRST, SECOND, THIRD = "20261101-100000-000a", "20261102-100000-000b", "20261103-100000-000c"
CONFIG = {"config": {"inline": {"parallelism": 8}}}
ORIGINAL = kubeadm_manifest(34)


def patched() -> Node:
    return node("cp1").after(planned(VERBOSE, node("cp1")), FIRST)


def patched_twice() -> Node:
    return patched().after(planned(CONFIG, patched()), SECOND)


def content(item: Node) -> bytes:
    assert item.facts.manifest is not None
    return item.facts.manifest.content


def wanted(facts: NodeFacts, to: str | None = None) -> Wanted:
    result = wanted_of(facts, to)
    assert isinstance(result, Wanted), result
    return result


def refused(facts: NodeFacts, to: str | None = None) -> list[str]:
    result = wanted_of(facts, to)
    assert isinstance(result, NoTarget), result
    return [finding.code for finding in result.findings]


def codes(judged: Judged) -> list[str]:
    return [finding.code for finding in judged.findings]


def test_one_step_back_is_what_stood_there_before_the_last_run() -> None:
    assert wanted(patched_twice().facts)[:3] == ("cp1", SECOND, "before")
    assert wanted(patched().facts)[:3] == ("cp1", FIRST, "before")


def test_a_second_rollback_goes_further_back_not_forth() -> None:
    back = patched_twice().rolled_back_to(content(patched()), THIRD)
    assert wanted(back.facts)[:3] == ("cp1", FIRST, "before")
    assert refused(back.rolled_back_to(ORIGINAL, "20261104-100000-000d").facts) == ["N201"]


def test_a_node_that_was_never_patched_has_nothing_to_go_back_to() -> None:
    assert refused(node("cp1").facts) == ["N201"]


def test_to_a_run_is_what_that_run_left() -> None:
    assert wanted(patched_twice().facts, FIRST)[:3] == ("cp1", FIRST, "after")
    assert refused(patched_twice().facts, SECOND) == []  # it is there already
    assert refused(patched().facts, THIRD) == ["N202"]
    assert refused(patched().facts, "../../etc") == ["N202"]


def test_a_run_that_was_taken_back_left_nothing() -> None:
    (revision,) = patched().facts.revisions
    failed = patched().but(revisions=(revision._replace(run=SECOND, outcome="restored"), revision))
    assert refused(failed.facts, SECOND) == ["N202"]
    assert wanted(failed.facts).run == FIRST


def test_after_a_change_by_hand_the_way_back_is_still_there() -> None:
    edited = patched().with_manifest(content(patched()).replace(b"--v=5", b"--v=6"))
    result = wanted(edited.facts)
    assert result[:3] == ("cp1", FIRST, "before")
    assert [finding.code for finding in result.findings] == ["N208"]


def test_a_wiped_manifest_has_nothing_to_go_back_to() -> None:
    assert refused(patched().with_manifest(kubeadm_manifest(35)).facts) == ["N201"]


def test_an_open_run_is_ended_first_wherever_one_wants_to_go() -> None:
    for to in (None, "original", FIRST):
        result = wanted(patched().open_run(run=THIRD).facts, to)
        assert (result.run, result.ends_transaction) == (THIRD, True)
    missing = patched().without_manifest().open_run(run=THIRD, state="moved")
    judged = judge_target(missing.facts, wanted(missing.facts), None)
    assert judged.target is not None
    assert judged.target.plan is None


def test_to_original_is_what_stood_there_first() -> None:
    assert wanted(patched_twice().facts, "original").content == ORIGINAL


def test_to_original_after_an_upgrade_un_patches_todays_manifest() -> None:
    upgraded = patched().but(base=None).at("1.35.2")
    again = upgraded.after(planned(VERBOSE, upgraded), THIRD).but(base=kubeadm_manifest(35))
    result = wanted(again.facts, "original")
    assert result.content == kubeadm_manifest(35)
    assert [finding.code for finding in result.findings] == ["N209"]


def test_to_original_of_an_un_patched_manifest_is_done_already() -> None:
    assert refused(patched().at("1.35.2").facts, "original") == []


def test_to_original_that_the_node_lost() -> None:
    assert refused(patched().but(original=None, base=None).facts, "original") == ["N203"]


def judged_back(item: Node, fetched: bytes | None = ORIGINAL) -> Judged:
    return judge_target(item.facts, wanted(item.facts), fetched)


def test_a_good_target_has_the_exact_bytes() -> None:
    judged = judged_back(patched())
    assert judged.findings == ()
    assert judged.target is not None
    assert judged.target.plan is not None
    assert judged.target.un_patched
    assert judged.target.plan.after.encode() == ORIGINAL
    assert judged.target.plan.before.encode() == content(patched())


@pytest.mark.parametrize(
    "item, fetched, code",
    [
        (patched(), None, "N203"),
        (patched(), ORIGINAL + b"\n", "N203"),
        (patched(), b"{", "N203"),
        (patched().but(kubelet=KubeVersion(36, 1)), ORIGINAL, "N204"),
        (
            patched().but(path_types={"/etc/kubernetes/scheduler.conf": "Directory"}),
            ORIGINAL,
            "N205",
        ),
        (
            patched().but(images={"registry.k8s.io/kube-scheduler:v1.34.11": False}),
            ORIGINAL,
            "N207",
        ),
    ],
)
def test_what_stands_in_the_way(item: Node, fetched: bytes | None, code: str) -> None:
    judged = judged_back(item, fetched)
    assert codes(judged) == [code]
    assert (judged.target is None) is (code != "N207")


def test_one_minor_older_than_the_kubelet_still_works() -> None:
    assert judged_back(patched().but(kubelet=KubeVersion(35, 0))).target is not None


def test_a_local_image_that_is_gone_can_not_be_had() -> None:
    local = kubeadm_manifest(34).replace(b"registry.k8s.io/", b"localhost/")
    first = node("cp1").with_manifest(local)
    item = first.after(planned(VERBOSE, first), FIRST)
    gone = item.but(images={"localhost/kube-scheduler:v1.34.11": False})
    assert codes(judged_back(gone, local)) == ["N206"]


def test_a_generation_that_was_removed() -> None:
    item = patched_twice()
    (path,) = [p for p in about_manifests([content(item)]).paths if "generations" in p]
    back = item.rolled_back_to(content(patched()), THIRD).but(path_types={path: "Missing"})
    judged = judge_target(back.facts, wanted(back.facts, SECOND), content(item))
    assert codes(judged) == ["N205"]
    assert judged.findings[0].message == f"{path} does not exist"


def test_run_ids_sort_by_time_and_are_safe_names() -> None:
    assert new_run_id(1_794_861_912.25, 0x13FA9) == "20261116-204512-3ea9"
    assert new_run_id(1, 0xFFFF) < new_run_id(2, 0)
    assert new_run_id(1.25, 0xFFFF) < new_run_id(1.5, 0), "within one second too"
    assert is_run_id("20261116-204512-3fa9")
    for text in ("", "original", "20261116-204512-3FA9", "20261116-204512-3fa9\n", "../x", "٢" * 8):
        assert not is_run_id(text)
