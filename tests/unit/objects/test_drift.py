"""Has the cluster still got what the last run brought?"""

from __future__ import annotations

import pytest

from kschedpatch.core.objects.deciding import Seen
from kschedpatch.core.objects.drift import ObjectsNow, as_left, object_checks, touched
from kschedpatch.model.checks import CheckState
from kschedpatch.model.clusterplan import Ledger, Object
from tests.unit.objects.test_deciding import A, body, dry, entry, live, seen

GIVEN = body("rbac.authorization.k8s.io/v1/ClusterRole", rules=[{"verbs": ["get"]}])
WIDER = {**GIVEN, "rules": [{"verbs": ["get"]}, {"verbs": ["*"]}]}
LEDGER = Ledger(A, "trial", (entry(GIVEN),))
KEY = body("v1/Secret", data={"key": "c2VjcmV0"})


def codes(before: Ledger, now: Seen) -> list[str]:
    checks = object_checks(ObjectsNow(as_left(before, now)))
    return [finding.code for check in checks for finding in check.findings]


CASES: list[tuple[str, Seen, list[str]]] = [
    ("as it was left", seen(live(GIVEN)), []),
    ("a controller of Kubernetes' own", seen(live(GIVEN, "kube-controller-manager")), []),
    ("deleted", seen(), ["N114"]),
    ("widened", seen(live(WIDER, "kubectl-edit"), dry=dry(live(GIVEN))), ["N115"]),
    (
        "written into, and the patch would change nothing",
        seen(live(GIVEN, "kubectl-annotate"), dry=dry(live(GIVEN, "kubectl-annotate"))),
        [],
    ),
    ("written into, and nobody can tell what", seen(live(GIVEN, "kubectl-edit")), ["N115"]),
]


@pytest.mark.parametrize("_what, now, expected", CASES, ids=[case[0] for case in CASES])
def test_by_what_is_there(_what: str, now: Seen, expected: list[str]) -> None:
    assert codes(LEDGER, now) == expected


def test_only_what_others_have_written_into_is_tried() -> None:
    assert touched(LEDGER, seen(live(GIVEN))) == ()
    assert touched(LEDGER, seen()) == ()
    [wish] = touched(LEDGER, seen(live(GIVEN, "kubectl-edit")))
    assert wish.ref == LEDGER.entries[0].ref


def test_what_a_run_has_taken_away_need_not_be_there() -> None:
    gone = Ledger(A, "trial", (entry(GIVEN, body=None),))
    assert codes(gone, seen()) == []


def test_lines_are_shown_and_no_secrets() -> None:
    before = Ledger(A, "trial", (entry(GIVEN), entry(KEY)))
    other: Object = {**KEY, "data": {"key": "b3RoZXI="}}
    now = seen(
        live(WIDER, "kubectl-edit"),
        live(other, "kubectl-edit"),
        dry=dry(live(GIVEN), live(KEY)),
    )
    checks = [*object_checks(ObjectsNow(as_left(before, now)))]
    assert {check.state for check in checks} == {CheckState.FAILED}
    lines = [line for check in checks for line in check.lines]
    assert any(line.startswith("-") and "*" in line for line in lines)
    assert "c2VjcmV0" not in "".join(lines)
    assert "b3RoZXI=" not in "".join(lines)


def test_without_an_api_server_nothing_is_claimed() -> None:
    [check] = object_checks(ObjectsNow(problem="the API server does not answer"))
    assert (check.state, check.findings) == (CheckState.NOT_CHECKED, ())
    assert [*object_checks(ObjectsNow())] == []
