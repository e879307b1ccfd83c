"""Rules of fields, arguments and extenders: what the scheduler refuses, at the field it blames."""

from __future__ import annotations

import pytest

from .judging import args, errors, judged

CONSTRAINT = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}"
RATIO = "scoringStrategy: {type: RequestedToCapacityRatio"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
VALUELESS = "{matchExpressions: [{key: a, operator: In}]}"
UNREAD = f"{{weight: 0, preference: {VALUELESS}}}"
TWICE = f"{{defaultingType: List, defaultConstraints: [{CONSTRAINT}, {CONSTRAINT}]}}"


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [("parallelism: 0", "C028", "parallelism"),
     ("percentageOfNodesToScore: 101", "C028", "percentageOfNodesToScore"),
     ("profiles: [{percentageOfNodesToScore: -1}]", "C028", "profiles[0].percentageOfNodesToScore"),
     ("podInitialBackoffSeconds: 0", "C028", "podInitialBackoffSeconds"),
     ("podInitialBackoffSeconds: 11", "C028", "podMaxBackoffSeconds"),
     ("clientConnection: {burst: -1}", "C028", "clientConnection.burst"),
     ("leaderElection: {retryPeriod: -1s}", "C017", "leaderElection.retryPeriod"),
     ("leaderElection: {leaseDuration: 10s}", "C017", "leaderElection.leaseDuration"),
     ("leaderElection: {retryPeriod: 9s}", "C041", "leaderElection.renewDeadline"),
     ("profiles: [{schedulerName: ''}]", "C029", "profiles[0].schedulerName"),
     ("profiles: [{schedulerName: a}, {}]", "C029", "profiles[1].schedulerName"),
     ("profiles: [{schedulerName: a}, {schedulerName: a}]", "C029", "profiles[1].schedulerName"),
     ("profiles: [{pluginConfig: [{name: X}, {name: X}]}]", "C032", "profiles[0].pluginConfig[1]"),
     ("extenders: [{prioritizeVerb: p}]", "C033", "extenders[0].weight"),
     ("extenders: [{managedResources: [{name: cpu}]}]", "C033",
      "extenders[0].managedResources[0].name"),
     ("extenders: [{managedResources: [{name: kubernetes.io/x}]}]", "C033",
      "extenders[0].managedResources[0].name"),
     ("extenders: [{tlsConfig: {insecure: true, caFile: /ca.crt}}]", "C033",
      "extenders[0].tlsConfig.insecure"),
     ("extenders: [{tlsConfig: {caData: aGVsbG8=}}]", "C033", "extenders[0].tlsConfig.caData")],
)  # fmt: skip
def test_bounds_and_names(body: str, code: str, path: str) -> None:
    assert errors(body) == [(code, path)]


def test_equal_durations_were_left_to_the_elector_once() -> None:
    body = "leaderElection: {leaseDuration: 10s, renewDeadline: 10s}"
    assert [code for code, _ in errors(body, 25)] == ["C041"]
    assert [code for code, _ in errors(body, 26)] == ["C017"]


def test_flags_are_on_top_of_the_file() -> None:
    body = "leaderElection: {leaderElect: false, leaseDuration: 1s}"
    assert errors(body) == []
    on = errors(body, flags={"leader-elect": "true"})
    assert on == [("C017", "leaderElection.leaseDuration")]
    nameless = errors("", flags={"leader-elect-resource-name": ""})
    assert nameless == [("C028", "leaderElection.resourceName")]
    assert errors("leaderElection: {resourceName: ''}") == []


@pytest.mark.parametrize(
    ("address", "refused"),
    [("127.0.0.1:10251", {23, 27}), ("", {22}), ("0.0.0.0:0", {22}), (":0", {22, 23, 27}),
     ("localhost:10251", {22, 23, 27}), ("127.0.0.1", {23, 27}), ("[::]:0", {22})],
)  # fmt: skip
def test_insecure_addresses_are_served_in_1_22_and_refused_later(
    address: str, refused: set[int]
) -> None:
    for minor in (22, 23, 27):
        body = f"healthzBindAddress: '{address}'\nmetricsBindAddress: '{address}'"
        found = {code for code, _ in errors(body, minor, version="v1beta2")}
        assert found == ({"C028"} if minor in refused else set())


@pytest.mark.parametrize(
    ("healthz", "metrics", "clash"),
    [("127.0.0.1:10251", None, True), (None, "127.0.0.1", True), ("0.0.0.0:10251", None, False),
     ("127.0.0.1:10251", "127.0.0.1", False), ("127.0.0.1:9", None, False),
     ("127.0.0.1:9", "[::]:9", True), ("127.0.0.1:9", "127.0.0.2:9", False)],
)  # fmt: skip
def test_1_22_can_stand_in_its_own_way(
    healthz: str | None, metrics: str | None, clash: bool
) -> None:
    given = {"healthzBindAddress": healthz, "metricsBindAddress": metrics}
    body = "\n".join(f"{key}: '{address}'" for key, address in given.items() if address)
    assert bool(errors(body, 22, version="v1beta1")) is clash
    if healthz is None or metrics is None:
        assert errors(body, 22, version="v1beta1", may_be_completed=True) == []


@pytest.mark.parametrize(
    ("plugin", "values", "path"),
    [("DefaultPreemption", "{minCandidateNodesPercentage: 101}", "minCandidateNodesPercentage"),
     ("DefaultPreemption", "{minCandidateNodesAbsolute: -1}", "minCandidateNodesAbsolute"),
     ("InterPodAffinity", "{hardPodAffinityWeight: 101}", "hardPodAffinityWeight"),
     ("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}",
      "resources[0].weight"),
     ("NodeResourcesBalancedAllocation", "{resources: [{name: a}, {name: a}]}",
      "resources[1].name"),
     ("NodeResourcesFit", "{ignoredResources: [a/b/c]}", "ignoredResources[0]"),
     ("NodeResourcesFit", "{ignoredResourceGroups: [a/b]}", "ignoredResourceGroups[0]"),
     ("NodeResourcesFit", "{scoringStrategy: {}}", "scoringStrategy.type"),
     ("NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, resources: [{weight: 101}]}}",
      "scoringStrategy.resources[0].weight"),
     ("NodeResourcesFit", f"{{{RATIO}}}}}", "scoringStrategy.requestedToCapacityRatio"),
     ("NodeResourcesFit", f"{{{RATIO}, requestedToCapacityRatio: {{shape: [{{score: 11}}]}}}}}}",
      "scoringStrategy.requestedToCapacityRatio.shape[0].score"),
     ("PodTopologySpread", f"{{defaultConstraints: [{CONSTRAINT}]}}", "defaultingType"),
     ("PodTopologySpread", "{defaultingType: All}", "defaultingType"),
     ("PodTopologySpread", TWICE, "defaultConstraints[1]"),
     ("VolumeBinding", "{bindTimeoutSeconds: -1}", "bindTimeoutSeconds"),
     ("VolumeBinding", "{shape: []}", "shape"),
     ("DynamicResources", "{filterTimeout: -1s}", "filterTimeout"),
     ("NodeAffinity", f"{{addedAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{VALUELESS}]}}}}}}",
      f"addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].values")],
)  # fmt: skip
def test_arguments_keep_their_rules(plugin: str, values: str, path: str) -> None:
    assert errors(args(plugin, values)) == [("C030", f"profiles[0].pluginConfig[0].args.{path}")]


@pytest.mark.parametrize(
    ("plugin", "values"),
    [("DefaultPreemption", "{minCandidateNodesPercentage: 0}"),
     ("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 0}]}"),
     ("NodeResourcesFit", "{scoringStrategy: {type: MostAllocated}}"),
     ("PodTopologySpread", f"{{defaultingType: List, defaultConstraints: [{CONSTRAINT}]}}"),
     ("NodeAffinity", f"{{addedAffinity: {{{PREFERRED}: [{UNREAD}]}}}}")],
)  # fmt: skip
def test_arguments_have_defaults_and_parts_that_nobody_reads(plugin: str, values: str) -> None:
    assert errors(args(plugin, values)) == []


def test_arguments_by_minor() -> None:
    other = "{scoringStrategy: {type: LeastAllocated, requestedToCapacityRatio: {shape: [{}]}}}"
    assert errors(args("NodeResourcesFit", other), 35) == []
    assert [code for code, _ in errors(args("NodeResourcesFit", other), 36)] == ["C030"]
    binding = args("DynamicResources", "{bindingTimeout: 5s}")
    assert [code for code, _ in errors(binding, 35)] == ["C030"]
    assert errors(binding, 36) == []
    gates = {"feature-gates": "DRADeviceBindingConditions=true"}
    assert errors(binding, 35, flags=gates) == []


@pytest.mark.parametrize("minor", [27, 32, 33, 36])
def test_a_feature_gate_opens_a_field(minor: int) -> None:
    gate = "VolumeCapacityPriority" if minor <= 32 else "StorageCapacityScoring"
    body = args("VolumeBinding", "{shape: [{utilization: 0}, {utilization: 100, score: 10}]}")
    assert [code for code, _ in errors(body, minor)] == ["C030"]
    for flag in (f"{gate}=true", "AllAlpha=true", f"AllAlpha=false,{gate}=true"):
        assert errors(body, minor, flags={"feature-gates": flag}) == []


def test_fit_is_looked_at_only_where_it_is_built() -> None:
    """The scheduler's own table of rules has it under a wrong name."""
    body = (
        "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}, "
        "pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: ['a/b/c']}}]}]"
    )
    assert errors(body) == []


IGNORING = "extenders: [{managedResources: [{name: a.b/c, ignoredByScheduler: true}]}]\n"


def test_what_extenders_ignore_needs_fit_and_replaces_its_own_list() -> None:
    without = "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]"
    assert errors(IGNORING + without) == [("C033", "profiles[0]")]
    own = args("NodeResourcesFit", "{ignoredResources: ['a/b/c']}")
    assert errors(own) != []
    assert errors(IGNORING + own) == []


def test_files_of_an_extender() -> None:
    body = "extenders: [{enableHTTPS: true, tlsConfig: {caFile: /tls/ca.crt, certFile: /tls/x}}]"
    assert [f.code for f in judged(body)].count("C040") == 2
    assert errors(body) == []
    elsewhere = errors(body, mounted=("/etc",))
    assert elsewhere == [
        ("C013", f"extenders[0].tlsConfig.{key}") for key in ("caFile", "certFile")
    ]
    assert errors(body, mounted=("/tls",)) == []
    # A certificate without a CA, a key or HTTPS is never looked at.
    assert errors("extenders: [{tlsConfig: {certFile: /tls/x}}]", mounted=()) == []
