"""Decoding is strict: what Go's decoder refuses is an error at the same place."""

from __future__ import annotations

import pytest

from kschedpatch.core.schedconfig.durations import nanoseconds

from .judging import args, errors, judged


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [("parallelism: '3'", "C018", "parallelism"),
     ("parallelism: 3.5", "C018", "parallelism"),
     ("parallelism: true", "C018", "parallelism"),
     ("parallelism: 2147483648", "C018", "parallelism"),
     ("podMaxBackoffSeconds: 9223372036854775808", "C018", "podMaxBackoffSeconds"),
     ("enableProfiling: 'true'", "C018", "enableProfiling"),
     ("clientConnection: {qps: 1e39}", "C018", "clientConnection.qps"),
     ("leaderElection: []", "C018", "leaderElection"),
     ("leaderElection: {leaseDuration: 15}", "C018", "leaderElection.leaseDuration"),
     ("leaderElection: {leaseDuration: null}", "C018", "leaderElection.leaseDuration"),
     ("extenders: [{httpTimeout: null}]", "C018", "extenders[0].httpTimeout"),
     ("extenders: [{tlsConfig: {caData: '!!'}}]", "C018", "extenders[0].tlsConfig.caData"),
     ("profiles: {}", "C018", "profiles"),
     ("profiles: [a]", "C018", "profiles[0]"),
     ("profiles: [{schedulerName: 5}]", "C018", "profiles[0].schedulerName"),
     (args("NodeResourcesFit", "[]"), "C018", "profiles[0].pluginConfig[0].args"),
     (args("VolumeBinding", "{bindTimeoutSeconds: '5'}"), "C018",
      "profiles[0].pluginConfig[0].args.bindTimeoutSeconds"),
     ("leaderElection: {LeaseDuration: 15s}", "C021", "leaderElection.LeaseDuration"),
     ("extenders: [{enableHttps: true}]", "C021", "extenders[0].enableHttps"),
     (args("VolumeBinding", "{bindTimeout: 5}"), "C021",
      "profiles[0].pluginConfig[0].args.bindTimeout"),
     ("healthzBindAddress: ''", "C021", "healthzBindAddress")],
)  # fmt: skip
def test_what_does_not_fit_is_named_where_it_stands(body: str, code: str, path: str) -> None:
    assert errors(body) == [(code, path)]


@pytest.mark.parametrize(
    "body",
    ["parallelism: null", "parallelism: 3.0", "parallelism: 1e2", "leaderElection: null",
     "profiles: null", "profiles: []", "profiles: [null]", "profiles: [{plugins: {score: null}}]",
     "profiles: [{plugins: {score: {enabled: null, disabled: [null]}}}]",
     "extenders: [null]", "extenders: [{tlsConfig: null, managedResources: null}]",
     "clientConnection: {qps: -1, burst: null}", "enableProfiling: yes",
     "leaderElection: {leaseDuration: 0s, renewDeadline: '0'}",
     args("NodeResourcesFit", "null"), args("PrioritySort", "{any: thing}"),
     args("VolumeBinding", "{kind: VolumeBindingArgs}"),
     args("VolumeBinding", "{apiVersion: kubescheduler.config.k8s.io/v1}"),
     args("VolumeBinding", "{apiVersion: '/', kind: null, shape: null}")],
)  # fmt: skip
def test_null_is_not_set_and_whole_numbers_have_many_spellings(body: str) -> None:
    assert errors(body) == []


def test_a_wrong_case_is_helped() -> None:
    (finding,) = (f for f in judged("leaderElection: {LeaseDuration: 15s}") if f.is_error)
    assert finding.hint == "did you mean leaseDuration?"


@pytest.mark.parametrize(
    ("body", "first", "version"),
    [("delayCacheUntilActive: true", 28, "v1"),
     ("profiles: [{percentageOfNodesToScore: 5}]", 26, "v1"),
     ("profiles: [{plugins: {preEnqueue: {}}}]", 26, "v1"),
     ("profiles: [{plugins: {preEnqueue: {}}}]", 26, "v1beta2"),
     ("profiles: [{plugins: {multiPoint: {}}}]", 23, "v1beta2"),
     ("profiles: [{plugins: {placementScore: {}}}]", 36, "v1"),
     (args("InterPodAffinity", "{ignorePreferredTermsOfExistingPods: true}"), 27, "v1")],
)  # fmt: skip
def test_a_field_is_there_from_its_minor_on(body: str, first: int, version: str) -> None:
    assert [code for code, _ in errors(body, first - 1, version=version)] == ["C019"]
    assert errors(body, first, version=version) == []


@pytest.mark.parametrize(
    ("version", "minor", "refused"),
    [("v1", 24, True), ("v1", 25, False), ("v1beta3", 28, False), ("v1beta3", 29, True),
     ("v2", 34, True), ("v2", None, True), ("v1beta2", None, False)],
)  # fmt: skip
def test_versions_that_are_read(version: str, minor: int | None, refused: bool) -> None:
    assert errors("", minor, version=version) == ([("C001", "apiVersion")] if refused else [])


def test_younger_fields_do_not_reach_older_versions() -> None:
    body = "profiles: [{percentageOfNodesToScore: 5}]"
    assert errors(body, 27, version="v1beta3") == [("C021", "profiles[0].percentageOfNodesToScore")]


@pytest.mark.parametrize(
    ("values", "step"),
    [("{kind: NodeAffinityArgs}", "kind"), ("{apiVersion: v1}", "apiVersion"),
     ("{apiVersion: kubescheduler.config.k8s.io/v1beta3}", "apiVersion")],
)  # fmt: skip
def test_arguments_are_of_the_plugins_kind_and_the_configurations_version(
    values: str, step: str
) -> None:
    expected = [("C031", f"profiles[0].pluginConfig[0].args.{step}")]
    assert errors(args("VolumeBinding", values), 27) == expected


def test_a_wrong_type_does_not_hide_what_is_wrong_elsewhere() -> None:
    body = "leaderElection: {leaseDuration: 5}\nparallelism: 0\nprofiles: [{schedulerName: ''}, {}]"
    found = errors(body)
    assert ("C018", "leaderElection.leaseDuration") in found
    assert ("C028", "parallelism") in found
    assert any(path.startswith("profiles") for _, path in found)


@pytest.mark.parametrize(
    "body",
    [
        "podInitialBackoffSeconds: x\npodMaxBackoffSeconds: 0",
        "extenders: {}\nprofiles: [{schedulerName: a}, {schedulerName: a}]",
        "profiles: [{schedulerName: 5}, {schedulerName: a}, {schedulerName: a}]",
        "leaderElection: {leaderElect: x, leaseDuration: 1s, renewDeadline: 2s}",
    ],
)
def test_what_depends_on_a_value_of_the_wrong_type_is_not_judged(body: str) -> None:
    assert {code for code, _ in errors(body)} == {"C018"}


def test_json_is_read_as_json() -> None:
    """A point makes a number a fraction to JSON, and none to YAML."""
    from kschedpatch.core.schedconfig.checks import Surroundings
    from kschedpatch.core.schedconfig.judge import judge

    head = '"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"'

    def codes(text: str) -> list[str]:
        found = judge(text.encode(), "c", Surroundings(34, stock_image=True))
        return [finding.code for finding in found if finding.is_error]

    assert codes(f'{{{head}, "parallelism": 3}}') == []
    assert codes(f'{{{head}, "parallelism": 3.0}}') == ["C018"]
    assert codes(f"{{{head}, parallelism: 3}}") == ["Y019"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("15s", 15 * 10**9), ("1m30s", 90 * 10**9), ("-1.5h", -5400 * 10**9), ("+.5s", 5 * 10**8),
     ("1.s", 10**9), ("0", 0), ("-0", 0), ("1us1\u00b5s1\u03bcs", 3000), ("", None), ("15", None),
     (".s", None), ("1d", None), ("s", None), ("15 s", None), ("--1s", None), ("+", None),
     ("2562047h47m16.854775807s", 2**63 - 1), ("2562047h47m16.854775808s", None),
     ("-2562047h47m16.854775808s", -(2**63)), ("99999999999999999999h", None)],
)  # fmt: skip
def test_durations_as_go_reads_them(text: str, value: int | None) -> None:
    assert nanoseconds(text) == value
