"""What a kept run has changed, in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from kschedpatch.core.fleet.retelling import RunChange, run_change
from kschedpatch.model.clusterplan import Ledger, Object
from tests.unit.fleet.nodes import kubeadm_manifest, node
from tests.unit.fleet.test_planning import VERBOSE, planned
from tests.unit.fleet.test_verifying import content, patched
from tests.unit.objects.test_deciding import A, B, body, entry

FILES = ("scheduler-config.yaml",)
CONFIG = {"config": {"inline": {"parallelism": 8}}}


def ledger(run: str, *given: Object, **fields: Any) -> Ledger:
    return Ledger(run, "trial", tuple(entry(item, **fields) for item in given))


def test_lines_of_the_manifest() -> None:
    change = run_change(kubeadm_manifest(34), content(patched()), (), None, None)
    assert change.added > 0
    assert change.removed == 0
    assert change.told == f"+{change.added} -0 lines"
    back = run_change(content(patched()), kubeadm_manifest(34), (), None, None)
    assert (back.added, back.removed) == (0, change.added)


def test_files_count_with_the_run_that_brought_them() -> None:
    item = node("cp1").after(planned(CONFIG, node("cp1")))
    before, after = kubeadm_manifest(34), content(item)
    assert run_change(before, after, FILES, None, None).files == FILES
    assert run_change(after, after, FILES, None, None).files == ()
    assert run_change(after, before, FILES, None, None).files == ()
    assert planned(VERBOSE, node("cp1")).nodes[0].generation is None


def test_objects_that_a_run_acted_on() -> None:
    old, new = body(data={"a": "1"}), body(data={"a": "2"})
    first = ledger(A, old)
    there = {"before": old}

    def titles(own: Ledger, former: Ledger | None) -> tuple[str, ...]:
        return run_change(None, None, (), own, former).objects

    title = "ConfigMap kube-system/x"
    assert titles(first, None) == (title,), "it was not there"
    assert titles(ledger(B, old, **there), first) == (), "as the run before had left it"
    assert titles(ledger(B, new, **there), first) == (title,)
    assert titles(ledger(B, old, **there), None) == (title,), "somebody else's, taken over"
    assert titles(ledger(B, old, body=None, **there), first) == (title,), "taken away"
    assert titles(ledger(B, old, body=None, before=None), first) == (), "long gone"


@pytest.mark.parametrize(
    "change, told",
    [
        (RunChange(), "nothing"),
        (RunChange(1, 0), "+1 -0 line"),
        (RunChange(3, 1, FILES, ("a", "b")), "+3 -1 lines, 1 file, 2 objects"),
        (RunChange(objects=("a",)), "1 object"),
    ],
)
def test_in_words(change: RunChange, told: str) -> None:
    assert change.told == told


def test_bytes_that_are_lost_or_no_manifest() -> None:
    assert run_change(None, None, FILES, None, None) == RunChange()
    assert run_change(b"\xff", b"\x00", FILES, None, None).files == ()
