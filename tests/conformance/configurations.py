"""Whole configurations of a minor, as text, with the flags beside them: right, or broken in a place
or two."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from .arguments import Trees, fields, listed
from .breaks import broken
from .oddtext import odd_text
from .profiles import Release, profiles
from .scalars import BOOLEANS, DURATIONS, EXTENDED_RESOURCES, number, one_of
from .sharing import shared
from .surroundings import CA_DATA, CERT_DATA, KEY_DATA, KUBECONFIG
from .tree import Map, Token, Tree, as_json, mapping, written

GROUP = "kubescheduler.config.k8s.io"


class Case(NamedTuple):
    """One file and the leader-election flags beside it."""

    data: bytes
    flags: tuple[tuple[str, str], ...] = ()
    tree: Tree | None = None
    """What the data was written from, where nothing was done to the text itself."""


def versions(minor: int) -> list[str]:
    """Those that the minor reads."""
    spans = {"v1beta1": (22, 22), "v1beta2": (22, 27), "v1beta3": (23, 28), "v1": (25, 99)}
    return [version for version, (first, last) in spans.items() if first <= minor <= last]


_ELECTION: Trees = fields(
    {},
    {
        "leaderElect": BOOLEANS,
        "leaseDuration": one_of("15s", "30s", "60s", "10s", "1m0s", "137s"),
        "renewDeadline": one_of("10s", "8s", "5s", "9s500ms", "15s"),
        "retryPeriod": one_of("2s", "1s", "500ms"),
        "resourceLock": one_of("leases", "leases", "leases", "endpointsleases", "configmaps"),
        "resourceName": one_of("kube-scheduler", "my-scheduler", '""'),
        "resourceNamespace": one_of("kube-system", "default"),
    },
)
_CONNECTION: Trees = fields(
    {"kubeconfig": one_of(KUBECONFIG)},
    {
        "acceptContentTypes": one_of("application/json", '""'),
        "contentType": one_of("application/json", "application/vnd.kubernetes.protobuf"),
        "qps": number(0, 100) | one_of("50.5", "-1", "1e2"),
        "burst": number(0, 200),
    },
)


def tls_settings() -> Trees:
    public: dict[str, Trees] = {
        "insecure": BOOLEANS,
        "serverName": one_of("gpu.example.com", '""'),
        "caData": one_of(CA_DATA),
    }
    own: dict[str, Trees] = {"certData": one_of(CERT_DATA), "keyData": one_of(KEY_DATA)}
    return fields({}, public) | fields(own, {"insecure": BOOLEANS})


def managed_resources() -> Trees:
    return st.lists(
        fields({"name": EXTENDED_RESOURCES}, {"ignoredByScheduler": BOOLEANS}),
        max_size=2,
        unique_by=lambda item: item.pairs[0][1],
    ).map(tuple)


_EXTENDER: Trees = fields(
    {},
    {
        "urlPrefix": one_of(
            "http://gpu-admission.kube-system:3456/scheduler", "https://127.0.0.1:1", '""', "a b"
        ),
        "filterVerb": one_of("filter", "predicates", '""'),
        "preemptVerb": one_of("preempt", '""'),
        "prioritizeVerb": one_of("prioritize", '""'),
        "weight": number(0, 10),
        "bindVerb": one_of("bind", '""', '""', '""'),
        "enableHTTPS": BOOLEANS,
        "tlsConfig": tls_settings(),
        "httpTimeout": DURATIONS,
        "nodeCacheCapable": BOOLEANS,
        "managedResources": managed_resources(),
        "ignorable": BOOLEANS,
    },
)  # fmt: skip


def _addresses(minor: int) -> Trees:
    closed = one_of('""', "127.0.0.1:0", '"0"', ":0", "0.0.0.0:0")
    if minor > 22:
        return closed
    return closed | one_of("127.0.0.1:10251", "0.0.0.0:10251", ":10251", "127.0.0.1")


@st.composite
def trees(draw: st.DrawFn, release: Release) -> Map:
    """A configuration that is meant to be right."""
    optional: dict[str, Trees] = {
        "parallelism": number(1, 64),
        "leaderElection": _ELECTION,
        "enableProfiling": BOOLEANS,
        "enableContentionProfiling": BOOLEANS,
        "percentageOfNodesToScore": number(0, 100),
        "podInitialBackoffSeconds": number(1, 10),
        "podMaxBackoffSeconds": number(10, 60),
        "extenders": listed(_EXTENDER, 0, 2),
    }
    if release.version in ("v1beta1", "v1beta2"):
        optional |= dict.fromkeys(
            ("healthzBindAddress", "metricsBindAddress"), _addresses(release.minor)
        )
    if release.minor >= 28 and release.version == "v1":
        optional["delayCacheUntilActive"] = BOOLEANS
    found: dict[str, Tree] = {
        "apiVersion": Token(f"{GROUP}/{release.version}"),
        "kind": Token("KubeSchedulerConfiguration"),
    }
    found |= draw(st.fixed_dictionaries({"clientConnection": _CONNECTION}, optional=optional))
    if draw(st.integers(0, 7)):
        young = release.minor >= 26 and release.version == "v1"
        found["profiles"] = draw(profiles(release, young))
    return mapping(found)


_FLAGS = st.fixed_dictionaries(
    {},
    optional={
        "leader-elect": st.sampled_from(["true", "false", "1", "T", "False"]),
        "leader-elect-lease-duration": st.sampled_from(["15s", "30s", "5s", "0s", "1m", "-1s"]),
        "leader-elect-renew-deadline": st.sampled_from(["10s", "5s", "14s", "0"]),
        "leader-elect-retry-period": st.sampled_from(["2s", "1s", "0s"]),
        "leader-elect-resource-lock": st.sampled_from(["leases", "endpointsleases", "x"]),
        "leader-elect-resource-name": st.sampled_from(["kube-scheduler", "mine", ""]),
        "leader-elect-resource-namespace": st.sampled_from(["kube-system", "other", ""]),
    },
).map(lambda flags: tuple(flags.items()))  # fmt: skip


_BREAKS = [0, 0, 1, 1, 1, 1, 1, 2, 2]


@st.composite
def cases(draw: st.DrawFn, minor: int) -> Case:
    release = Release(minor, draw(st.sampled_from(versions(minor))))
    tree: Tree = draw(trees(release))
    is_shared = not draw(st.integers(0, 4))
    # What is said in odd ways is mostly right otherwise: a mistake would hide how it is read.
    for _ in range(draw(st.sampled_from([0, 0, 0, 1] if is_shared else _BREAKS))):
        tree = draw(broken(tree))
    if is_shared:
        tree = draw(shared(tree))
    flow_from = draw(st.sampled_from([1, 2, 3, 4, 5, *[99] * 8, -1, 0]))
    text = as_json(tree) if flow_from < 0 else written(tree, flow_from)
    flags = draw(_FLAGS) if not draw(st.integers(0, 3)) else ()
    if not draw(st.integers(0, 11)):
        return Case(draw(odd_text(text)), flags)
    return Case(text.encode(errors="surrogatepass"), flags, tree)
