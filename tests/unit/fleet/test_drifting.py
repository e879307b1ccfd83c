"""What status says about nodes that are not as they were left: what, where, and what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedpatch.core.fleet.drifting import drift_findings
from kschedpatch.core.fleet.standing import statuses
from kschedpatch.core.fleet.verifying.fleet import Evidence, verify_fleet
from tests.unit.fleet.nodes import DIRECTORY, PATH, Node, kubeadm_manifest, node
from tests.unit.fleet.test_verifying import RUN, edited, patched

Change = Callable[[Node], Node]
STAGED = f"/etc/kubernetes/kschedpatch/generations/.new-{RUN}"
CASES: list[tuple[str, str, str, Change]] = [
    ("M026", f"cp1:{DIRECTORY}/kube-scheduler.yaml.bak", "defines the pod", lambda n: n.beside(
        "kube-scheduler.yaml.bak", kubeadm_manifest(34))),
    ("N023", f"cp1:{DIRECTORY}", "kschedpatch-canary.yaml", lambda n: n.but(
        leftovers=("kschedpatch-canary.yaml",))),
    ("N101", f"cp1:{PATH}", "the patch mine is gone", lambda n: n.at("1.35.1")),
    ("N102", f"cp1:{PATH}", f"not as run {RUN} left it", edited),
    ("N103", "cp1", "config.yaml: FAILED", lambda n: n.but(
        generation_problem="in generations/1f: config.yaml: FAILED")),
    ("N112", "cp1", "nothing on the node counts", lambda n: n.open_run(dead_man=False)),
    ("N113", "cp1", STAGED, lambda n: n.but(debris=(STAGED,))),
]  # fmt: skip


@pytest.mark.parametrize("code, where, words, change", CASES, ids=[case[0] for case in CASES])
def test_status_names_it_and_so_does_verify(
    code: str, where: str, words: str, change: Change
) -> None:
    facts = [change(patched()).facts]
    [finding] = drift_findings(facts)
    assert (finding.code, finding.file) == (code, where)
    assert words in finding.message
    assert code in {f.code for f in verify_fleet(facts, Evidence()).findings}


def test_nothing_is_said_of_nodes_that_are_as_they_were_left() -> None:
    assert drift_findings([patched().facts, patched("cp2").facts]) == ()
    assert drift_findings([node("cp1").facts]) == ()
    assert drift_findings([]) == ()


def test_what_an_open_run_uses_is_not_left_behind() -> None:
    item = patched().open_run().but(leftovers=(f".kschedpatch-{RUN}.old",), debris=(STAGED,))
    assert drift_findings([item.facts]) == ()


def test_a_kept_generation_that_is_damaged_is_no_way_back() -> None:
    (revision,) = patched().facts.revisions
    older = revision._replace(run="20261101-000000-0001", generation="1f")
    item = patched().but(revisions=(revision, older), kept_generation_problems={"1f": "in 1f: x"})
    [finding] = verify_fleet([item.facts], Evidence()).findings
    assert finding.code == "N116"
    assert "rollback --to 20261101-000000-0001" in finding.hint


@pytest.mark.parametrize(
    "change, since",
    [
        (lambda n: n, 1_794_861_912),
        (edited, 1_794_900_000),
        (lambda n: n.open_run(since=1_794_900_500), 1_794_900_500),
        (lambda n: n.without_manifest(), None),
        (lambda n: n.but(manifest_changed=0).at("1.35.1"), None),
    ],
)
def test_since_when_it_stands(change: Change, since: int | None) -> None:
    clock = 1_794_901_000
    item = change(patched().but(clock=clock, manifest_changed=1_794_900_000))
    [told] = statuses([item.facts])
    assert (told.since, told.age) == (since, clock - since if since else None)


def test_a_clock_that_was_set_back_makes_no_negative_age() -> None:
    [told] = statuses([patched().but(clock=5).facts])
    assert told.age == 0
