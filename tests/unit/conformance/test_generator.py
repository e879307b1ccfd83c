"""The generator reaches every field and plugin, and what it finds is made small."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.conformance.configurations import Case, cases, versions
from tests.conformance.minimising import minimised
from tests.conformance.plugins import plugins, points
from tests.conformance.tree import Map, Token, as_json, mapping, places, replaced, written


def _generated(minor: int, count: int, start: int = 1) -> list[Case]:
    found: list[Case] = []

    @seed(start)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(minor))
    def each(case: Case) -> None:
        found.append(case)

    each()
    return found


WANTED = """parallelism leaderElection clientConnection enableProfiling extenders profiles
    enableContentionProfiling percentageOfNodesToScore podInitialBackoffSeconds pluginConfig args
    podMaxBackoffSeconds leaderElect leaseDuration renewDeadline retryPeriod resourceLock
    resourceName resourceNamespace kubeconfig acceptContentTypes contentType qps burst weight
    urlPrefix filterVerb preemptVerb prioritizeVerb bindVerb enableHTTPS tlsConfig httpTimeout
    nodeCacheCapable managedResources ignorable ignoredByScheduler schedulerName plugins
    minCandidateNodesPercentage minCandidateNodesAbsolute hardPodAffinityWeight addedAffinity
    ignoredResources ignoredResourceGroups scoringStrategy requestedToCapacityRatio shape
    defaultingType defaultConstraints bindTimeoutSeconds enabled disabled""".split()


def test_every_field_and_every_plugin_comes_up() -> None:
    """Within a few hundred. What hypothesis draws for a seed depends on the modules that happen to
    be loaded, so one seed alone may lack a name."""
    missing = {*WANTED, *points(27), *plugins(27, "multiPoint"), *versions(27), "flags"}
    for start in range(1, 7):
        for case in _generated(27, 200, start):
            nodes = [node for _, node in places(case.tree)] if case.tree is not None else []
            missing -= {key for node in nodes if isinstance(node, Map) for key, _ in node.pairs}
            tokens = {str(node) for node in nodes if isinstance(node, str)}
            missing -= tokens | {token.rpartition("/")[2] for token in tokens}
            missing -= {"flags"} if case.flags else set()
        if not missing:
            return
    assert not missing


def test_the_same_seed_gives_the_same_configurations() -> None:
    assert _generated(34, 20) == _generated(34, 20)


_TREE = mapping(
    {
        "kind": Token("X"),
        "list": (mapping({"name": Token("'*'"), "weight": Token("5")}), Token("b")),
        "empty": mapping({}),
    }
)


def test_a_tree_is_written_in_block_and_flow_style_and_as_json() -> None:
    block = "kind: X\nlist:\n- name: '*'\n  weight: 5\n- b\nempty: {}\n"
    assert written(_TREE) == block
    assert written(_TREE, 2) == "kind: X\nlist:\n- {name: '*', weight: 5}\n- b\nempty: {}\n"
    assert json.loads(as_json(_TREE)) == {
        "kind": "X",
        "list": [{"name": "*", "weight": 5}, "b"],
        "empty": {},
    }


def test_a_key_can_be_there_twice() -> None:
    twice = Map((*_TREE.pairs, ("kind", Token("Y"))))
    assert written(twice).count("kind: ") == 2
    assert written(replaced(twice, (3,), Token("Z"))).endswith("kind: Z\n")


def test_what_does_not_matter_is_left_out() -> None:
    case = Case(written(_TREE).encode(), (("leader-elect", "true"),), _TREE)
    assert minimised(case, lambda c: b"weight" in c.data).data == b"list:\n- weight: 5\n"
    flagged = minimised(case, lambda c: bool(c.flags))
    assert flagged.flags
    assert flagged.data == b"{}\n"


def test_a_text_without_a_tree_loses_lines() -> None:
    case = Case(b"a: 1\nb: 2\n\tc: 3\nd: 4\n")
    assert minimised(case, lambda c: b"\t" in c.data).data == b"\tc: 3"
