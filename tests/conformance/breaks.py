"""One mistake somewhere in a configuration: a name, a value, a type, a place."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from .plugins import ALL, POINTS
from .profiles import STRANGERS
from .scalars import ODD, WORDS, number, one_of
from .tree import Map, Marked, Place, Token, Tree, at, mapping, places, replaced

#: Every field there is, in any version: misplaced it is a mistake, and mistyped it is another.
_FIELDS = """apiVersion kind parallelism leaderElection clientConnection healthzBindAddress
metricsBindAddress enableProfiling enableContentionProfiling percentageOfNodesToScore
podInitialBackoffSeconds podMaxBackoffSeconds profiles extenders delayCacheUntilActive
algorithmSource leaderElect leaseDuration renewDeadline retryPeriod resourceLock resourceName
resourceNamespace kubeconfig acceptContentTypes contentType qps burst schedulerName plugins
pluginConfig enabled disabled name weight args urlPrefix filterVerb preemptVerb prioritizeVerb
bindVerb enableHTTPS tlsConfig httpTimeout nodeCacheCapable managedResources ignorable
ignoredByScheduler insecure serverName certFile keyFile caFile certData keyData caData
scoringStrategy resources shape labelSelector minDomains metadata spec status foo""".split()
_SECTIONS: dict[str, Tree] = {
    "labelSelector": mapping({"matchLabels": mapping({"a": Token("b")})}),
    "minDomains": Token("1"),
    "nodeAffinityPolicy": Token("Honor"),
    "shape": (mapping({"utilization": Token("0"), "score": Token("0")}),),
    "kind": Token("NodeNameArgs"),
    "apiVersion": Token("kubescheduler.config.k8s.io/v1beta1"),
}
_VERSIONS = one_of(
    "kubescheduler.config.k8s.io/v1", "kubescheduler.config.k8s.io/v1beta1",
    "kubescheduler.config.k8s.io/v1beta2", "kubescheduler.config.k8s.io/v1beta3",
    "kubescheduler.config.k8s.io/v1alpha1", "kubescheduler.config.k8s.io/V1",
    "kubescheduler.config.k8s.io", "v1", "v1beta3", '""', "a/b/c", "kubescheduler.config.k8s.io/",
    "kubescheduler.config.k8s.io/v1 ", "kubescheduler.config.k8s.io/__internal", "/v1",
)  # fmt: skip
_KINDS = one_of(
    "KubeSchedulerConfiguration", "kubeSchedulerConfiguration", "Policy", "Pod",
    "DefaultPreemptionArgs",
    "KubeSchedulerConfigurationList", '""', "KubeSchedulerProfile", "NodeAffinityArgs", "List",
)  # fmt: skip
_NEAR_LIMITS = number(-2, 2) | number(99, 102) | number(9, 12) | one_of("2147483647", "2147483648")


@st.composite
def broken(draw: st.DrawFn, tree: Tree) -> Tree:
    found = list(places(tree))
    way = draw(st.sampled_from(_WAYS))
    for _ in range(3):
        place, here = draw(st.sampled_from(found))
        changed = draw(way(tree, place, here))
        if changed != tree:
            return changed
    return tree


def _odd_value(tree: Tree, place: Place, here: Tree) -> st.SearchStrategy[Tree]:
    return ODD.map(lambda odd: replaced(tree, place, odd)) if place else st.just(tree)


@st.composite
def _leaf_value(draw: st.DrawFn, tree: Tree, place: Place, here: Tree) -> Tree:
    leaves = [spot for spot, leaf in places(tree) if isinstance(leaf, str)]
    return replaced(tree, draw(st.sampled_from(leaves)), draw(ODD | _NEAR_LIMITS | WORDS))


@st.composite
def _renamed_key(draw: st.DrawFn, tree: Tree, place: Place, here: Tree) -> Tree:
    if not isinstance(here, Map) or not here.pairs:
        return tree
    index = draw(st.integers(0, len(here.pairs) - 1))
    key, child = here.pairs[index]
    letter = draw(st.integers(0, max(0, len(key) - 1)))
    cases = [key[:1].swapcase() + key[1:], key.lower(), key.upper(), key.title()]
    typos = [key[:letter] + key[letter + 1 :], key + "s", key.replace("e", "3")]
    spellings = [f"{key} ", f'"{key}"', f"'{key}'", f"!!str {key}", f"&k {key}", f"? {key}"]
    others = ["null", "1", "true", "~", "<<", "", "[a]", "1.5"]
    new = draw(st.sampled_from([*cases, *cases, *typos, *typos, *spellings, *others]))
    pairs = (*here.pairs[:index], (new, child), *here.pairs[index + 1 :])
    return replaced(tree, place, Map(pairs))


@st.composite
def _added_field(draw: st.DrawFn, tree: Tree, place: Place, here: Tree) -> Tree:
    if not isinstance(here, Map):
        return tree
    key = draw(st.sampled_from([*_FIELDS, *_SECTIONS, *POINTS]))
    value = _SECTIONS.get(key) or draw(number(0, 3) | one_of("x", "{}", "[]", "true", '""', "null"))
    at_start = draw(st.booleans())
    pairs = ((key, value), *here.pairs) if at_start else (*here.pairs, (key, value))
    return replaced(tree, place, Map(pairs))


def _index(here: Tree) -> st.SearchStrategy[int | None]:
    """Of one of the pairs or items, where there are any."""
    if isinstance(here, str | Marked):
        return st.none()
    size = len(here.pairs if isinstance(here, Map) else here)
    return st.integers(0, size - 1) if size else st.none()


@st.composite
def _doubled(draw: st.DrawFn, tree: Tree, place: Place, here: Tree) -> Tree:
    """A key or an item twice, the second time perhaps with another value."""
    index = draw(_index(here))
    if isinstance(here, str | Marked) or index is None:
        return tree
    if isinstance(here, Map):
        key, child = here.pairs[index]
        again = draw(st.just(child) | ODD)
        return replaced(tree, place, Map((*here.pairs, (key, again))))
    return replaced(tree, place, (*here, here[index]))


@st.composite
def _removed(draw: st.DrawFn, tree: Tree, place: Place, here: Tree) -> Tree:
    index = draw(_index(here))
    if isinstance(here, str | Marked) or index is None:
        return tree
    if isinstance(here, Map):
        return replaced(tree, place, Map((*here.pairs[:index], *here.pairs[index + 1 :])))
    return replaced(tree, place, (*here[:index], *here[index + 1 :]))


@st.composite
def _wrapped(draw: st.DrawFn, tree: Tree, place: Place, here: Tree) -> Tree:
    """A list where its item belongs, an item where its list belongs."""
    if not place:
        return tree
    if isinstance(here, tuple) and here and draw(st.booleans()):
        return replaced(tree, place, here[0])
    return replaced(tree, place, draw(st.sampled_from([(here,), mapping({"a": here})])))


@st.composite
def _moved(draw: st.DrawFn, tree: Tree, place: Place, here: Tree) -> Tree:
    """Something from elsewhere in the file, as after a slip of indentation."""
    found = list(places(tree))
    other, _ = draw(st.sampled_from(found))
    return (
        replaced(tree, place, at(tree, other)) if place and place[: len(other)] != other else tree
    )


@st.composite
def _headed(draw: st.DrawFn, tree: Tree, place: Place, here: Tree) -> Tree:
    """Another apiVersion or kind, at the top or in some plugin's arguments."""
    heads = [
        ((*spot, index), key)
        for spot, part in places(tree)
        if isinstance(part, Map)
        for index, (key, _) in enumerate(part.pairs)
        if key in ("apiVersion", "kind")
    ]
    spot, key = draw(st.sampled_from(heads))
    return replaced(tree, spot, draw(_VERSIONS if key == "apiVersion" else _KINDS))


@st.composite
def _other_plugin(draw: st.DrawFn, tree: Tree, place: Place, here: Tree) -> Tree:
    names = [
        (*spot, index)
        for spot, part in places(tree)
        if isinstance(part, Map)
        for index, (key, _) in enumerate(part.pairs)
        if key == "name"
    ]
    if not names:
        return tree
    return replaced(tree, draw(st.sampled_from(names)), draw(one_of(*ALL) | STRANGERS))


_Way = Callable[[Tree, Place, Tree], st.SearchStrategy[Tree]]
_OFTEN: list[_Way] = [_leaf_value, _leaf_value, _other_plugin, _renamed_key]
_WAYS: list[_Way] = [
    _odd_value, _leaf_value, _renamed_key, _added_field, _doubled, _removed, _wrapped, _moved,
    _headed, _other_plugin, *_OFTEN, *_OFTEN,
]  # fmt: skip
