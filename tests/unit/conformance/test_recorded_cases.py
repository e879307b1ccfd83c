"""What real schedulers said to these configurations is what lint says, without running any.

`python -m tests.conformance record` asks the schedulers again.
"""

from __future__ import annotations

import pytest

from tests.conformance.comparing import compare, compare_policy, linted, linted_policy
from tests.conformance.recorded import Recorded, recorded
from tests.conformance.verdicts import Verdict
from tests.e2e.cluster.versions import scheduler_minors

_VERDICTS = [
    pytest.param(case, minor, verdict, id=f"{case.name}-{minor}")
    for case in recorded()
    for minor, verdict in case.verdicts.items()
]


@pytest.mark.parametrize("case, minor, verdict", _VERDICTS)
def test_lint_says_what_the_scheduler_said(case: Recorded, minor: str, verdict: Verdict) -> None:
    if case.is_policy:
        errors = linted_policy(case.data)
        comparison = compare_policy(case.data, verdict, errors)
    else:
        errors = linted(case.data, case.flags, int(minor.split(".")[1]))
        comparison = compare(case.data, verdict, errors)
    told = [f"{error.code} {error.path}: {error.message}" for error in errors]
    assert comparison.agree, f"{case.about}\nscheduler: {verdict}\nlint: {told}"
    assert comparison.same_blame, f"{case.about}\nscheduler: {verdict}\nlint: {told}"


def test_every_case_is_explained_and_was_shown_to_every_scheduler() -> None:
    for case in recorded():
        assert case.about, case.name
        assert list(case.verdicts) == (["1.22"] if case.is_policy else scheduler_minors()), (
            case.name
        )
