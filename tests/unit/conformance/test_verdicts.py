"""The scheduler's words, read: why it refused, and which field it blamed."""

from __future__ import annotations

import pytest

from kschedpatch.model.codes import found
from tests.conformance.comparing import compare
from tests.conformance.verdicts import Blame, Verdict, blames, refusal


@pytest.mark.parametrize(
    "printed, reason",
    [
        (
            ('I1 1 configfile.go:1] "x"\n'
            'E1117 23:07:27.404209 25636 run.go:72] "command failed" '
            'err="strict decoding error: unknown field \\"foo\\""\n'),
            'strict decoding error: unknown field "foo"',
        ),
        (
            ('E1117 23:07:27.4 1 run.go:72] "command failed" err=<\n'
            "\tstrict decoding error: yaml: unmarshal errors:\n"
            '\t  line 5: key "a" already set in map\n >\n'),
            ("strict decoding error: yaml: unmarshal errors:\n"
            '  line 5: key "a" already set in map'),
        ),
        ("I1117 23:07:27.4 x\npanic: oh\n\ngoroutine 1 [running]:\n", "panic: oh"),
        ('Error: unknown flag: --port\n', "unknown flag: --port"),
    ],
)  # fmt: skip
def test_the_reason_is_found_in_what_was_printed(printed: str, reason: str) -> None:
    assert refusal(printed) == reason


@pytest.mark.parametrize(
    "text, expected",
    [
        ('strict decoding error: unknown field "profiles[0].x"', [("path", "profiles[0].x")]),
        ('strict decoding error: unknown field "foo"', [("key", "foo")]),
        ('… key "parallelism" already set in map', [("key", "parallelism")]),
        (
            ("json: cannot unmarshal number into Go struct field "
            "LeaderElectionConfiguration.leaderElection.leaseDuration of type string"),
            [("end", "leaderElection.leaseDuration")],
        ),
        (
            ("json: cannot unmarshal string into Go struct field "
            "KubeSchedulerConfiguration.DebuggingConfiguration.enableProfiling of type bool"),
            [("end", "enableProfiling")],
        ),
        (
            "[leaderElection.resourceName: Required value, parallelism: Invalid value: 0: x]",
            [("path", "leaderElection.resourceName"), ("path", "parallelism")],
        ),
        (
            ("strict decoding error: decoding .profiles[0].pluginConfig[1]: strict decoding error: "
            'decoding args for plugin X: strict decoding error: unknown field "y"'),
            [("end", "profiles[0].pluginConfig[1].args.y")],
        ),
        (
            ('strict decoding error: unknown field "profiles[0].x", '
            "decoding .profiles[0].pluginConfig[0]: strict decoding error: "
            'decoding args for plugin X: strict decoding error: unknown field "y"'),
            [("path", "profiles[0].x"), ("end", "profiles[0].pluginConfig[0].args.y")],
        ),
        (
            ('profiles[0].plugins.filter.enabled[17]: Invalid value: "NodeLabel": '
            'was removed in version "v1beta2" (KubeSchedulerConfiguration is version "v1beta2")'),
            [("plugin", "NodeLabel")],
        ),
        (
            "profiles[0].pluginConfig[0].args: Invalid value: x: has to match plugin args",
            [("path", "profiles[0].pluginConfig[0]")],
        ),
        ("profiles[1].pluginConfig.args: Invalid value: {}: x", [("path", "profiles[1]")]),
        (
            ("initializing profiles: creating profile for scheduler name s: "
            'FilterPlugin "X" does not exist'),
            [("plugin", "X")],
        ),
        (
            ('initializing plugin "NodeResourcesFit": scoringStrategy.shape[1].score: '
            "Invalid value: 100: x"),
            [("plugin", "NodeResourcesFit")],
        ),
        (
            "only one queue sort plugin required for profile with scheduler name \"s\", but got 0",
            [("profile", "s")],
        ),
        ("Object 'Kind' is missing in '{}'", [("head", "apiVersion")]),
        ("yaml: line 7: mapping values are not allowed in this context", []),
    ],
)  # fmt: skip
def test_the_fields_that_a_refusal_names(text: str, expected: list[tuple[str, str]]) -> None:
    assert blames(text) == [Blame(*blame) for blame in expected]


_NO_SORT = "only one queue sort plugin required for profile with scheduler name"
_DATA = b"""\
leaderElection: {leaseDuration: 10s}
profiles:
- schedulerName: one
  pluginConfig:
  - {name: NodeAffinity, args: {}}
  - {name: NodeResourcesFit, args: {x: 1}}
"""


@pytest.mark.parametrize(
    "text, path, same",
    [
        ("leaderElection.leaseDuration: Invalid value: x", "leaderElection.leaseDuration", True),
        ("leaderElection.leaseDuration: Invalid value: x", "leaderElection", False),
        ("leaderElection.resourceName: Required value", "leaderElection", True),
        ("parallelism: Invalid value: 0", "", True),
        ("leaderElection: Invalid value: 0", "", False),
        ("leaderElection.leaseDuration: Invalid value: x", "leaderElection.retryPeriod", False),
        ("leaderElection.leaseDuration: Invalid value: x", "", False),
        ("extenders: Invalid value: x", "extenders[1].bindVerb", True),
        ("extenders[1].weight: Invalid value: x", "extenders[0].weight", False),
        ('unknown field "X"', "profiles[0].X", True),
        ('unknown field "X"', "profiles[0].Y", False),
        ('found unknown field: 1.5, error found', 'profiles[0]["1.5"]', True),
        ('found unknown field: ? x, error found', 'profiles[0]["? x"]', True),
        ('found unknown field: 1.5, error found', 'profiles[0]["2.5"]', False),
        ("… Go struct field Plugin.profiles.plugins.score.enabled.name of type string", "", True),
        ('initializing plugin "NodeResourcesFit": x', "profiles[0].pluginConfig[1].args.x", True),
        ('initializing plugin "NodeResourcesFit": x', "profiles[0].pluginConfig[0].args", False),
        (f'{_NO_SORT} "one", but got 0', "profiles[0].plugins", True),
        (f'{_NO_SORT} "two", but got 0', "profiles[0].plugins", False),
        ("[parallelism: Invalid value: 0, extenders: Invalid value: 1]", "parallelism", False),
    ],
)  # fmt: skip
def test_the_same_field_is_blamed(text: str, path: str, same: bool) -> None:
    error = found("C018", "x")._replace(path=path)
    assert compare(_DATA, Verdict(False, text), [error]).same_blame is same


def test_a_verdict_that_only_one_of_them_gives_is_a_disagreement() -> None:
    error = found("C018", "x")
    assert not compare(_DATA, Verdict(True), [error]).agree
    assert not compare(_DATA, Verdict(False, "x"), []).agree
    assert compare(_DATA, Verdict(True), []).agree
    assert compare(_DATA, Verdict(False, "x"), [error]).agree


def test_a_text_beyond_the_bounds_is_counted_apart() -> None:
    many = found("Y012", "x")
    assert compare(_DATA, Verdict(True), [many]).apart
    assert not compare(_DATA, Verdict(False, "x"), [many]).apart


def test_no_other_error_about_a_text_is_counted_apart() -> None:
    for code in ("Y003", "Y005", "Y007", "Y008", "Y009", "Y010", "Y013", "Y015", "Y019"):
        assert not compare(_DATA, Verdict(True), [found(code, "x")]).agree
