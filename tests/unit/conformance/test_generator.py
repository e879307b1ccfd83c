"""The generator reaches every field and plugin, and what it finds is made small."""

from __future__ import annotations

import json
import re
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from tests.conformance.comparing import linted
from tests.conformance.configurations import Case, cases, trees, versions
from tests.conformance.minimising import minimised
from tests.conformance.plugins import plugins, points
from tests.conformance.profiles import Release
from tests.conformance.sharing import shared
from tests.conformance.tree import Map, Marked, Token, as_json, mapping, places, replaced, written

_T = TypeVar("_T")


def _generated(minor: int, count: int, start: int = 1) -> list[Case]:
    return _drawn(cases(minor), count, start)


def _drawn(strategy: SearchStrategy[_T], count: int, start: int) -> list[_T]:
    found: list[_T] = []

    @seed(start)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def each(case: _T) -> None:
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


@pytest.mark.long
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


SIGNS = {
    "anchor": r"[ \n]&", "alias": r"[ \n]\*[a-z]", "of a mapping": r": &\S+(?:\n| \{)",
    "merge key": "<<: ", "merged alias": r"<<: \*", "merged list": r"<<:(?: \[|\n *- )",
    "!!int": "!!int", "!!str": "!!str", "!!bool": "!!bool", "tagged mapping": "!!map",
    "own tag": "!x", "explicit key": r"[ \n]\? ",
}  # fmt: skip


@pytest.mark.long
def test_aliases_merge_keys_and_tags_come_up_in_what_the_scheduler_takes() -> None:
    """A text that is refused for another mistake says little about how they are read."""
    missing = dict(SIGNS)
    right = Release(34, "v1")
    for start in range(1, 9):
        for tree in _drawn(trees(right).flatmap(shared), 60, start):
            text = written(tree)
            if not linted(text.encode(), (), 34):
                missing = {k: sign for k, sign in missing.items() if not re.search(sign, text)}
        if not missing:
            return
    assert not missing


def test_a_marked_tree_is_written_in_both_styles() -> None:
    inner = mapping({"a": Token("1"), "? b": Token("2")})
    tree = mapping({"x": Marked("&x", inner), "y": (Marked("!m", inner), Token("*x"))})
    assert written(tree) == ("x: &x\n  a: 1\n  ? b\n  : 2\ny:\n- !m\n  a: 1\n  ? b\n  : 2\n- *x\n")
    assert written(tree, 1) == "x: &x {a: 1, ? b : 2}\ny: [!m {a: 1, ? b : 2}, *x]\n"


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
