"""What differs from one Kubernetes minor to the next, as tables. Sources: kubernetes/kubernetes."""

from __future__ import annotations

from kschedpatch.model.kubeversion import KubeVersion

CONFIG_GROUP = "kubescheduler.config.k8s.io"
CONFIG_KIND = "KubeSchedulerConfiguration"

# Oldest and newest minor that reads each version of the configuration (None: still read).
_CONFIG_VERSIONS: dict[str, tuple[int, int | None]] = {
    "v1beta1": (22, 22),
    "v1beta2": (22, 27),
    "v1beta3": (23, 28),
    "v1": (25, None),
}
# From which minor on the scheduler logs a version as deprecated.
_CONFIG_DEPRECATED = {"v1beta2": 25, "v1beta3": 26}


# Fields that are younger than the rest: first minor, and first version of the configuration that
# has them. Keys are the last step of their path.
YOUNG_CONFIG_FIELDS: dict[str, tuple[int, str]] = {
    "multiPoint": (23, "v1beta2"),
    "preEnqueue": (26, "v1beta2"),
    "delayCacheUntilActive": (28, "v1"),
    "placementGenerate": (36, "v1"),
    "placementScore": (36, "v1"),
}
# percentageOfNodesToScore has always been there at the top; within a profile it is young.
YOUNG_PROFILE_FIELDS: dict[str, tuple[int, str]] = {"percentageOfNodesToScore": (26, "v1")}


def config_version_reaches(version: str, needed: str) -> bool:
    """Whether a version of the configuration is the needed one or a later one."""
    order = list(_CONFIG_VERSIONS)
    return version not in order or order.index(version) >= order.index(needed)


def config_versions(minor: int) -> tuple[str, ...]:
    """The versions that this minor reads, the best one last."""
    return tuple(
        version
        for version, (first, last) in _CONFIG_VERSIONS.items()
        if first <= minor and (last is None or minor <= last)
    )


def best_config_version(minor: int) -> str:
    return f"{CONFIG_GROUP}/{config_versions(minor)[-1]}"


def is_deprecated_config(version: str, minor: int) -> bool:
    return minor >= _CONFIG_DEPRECATED.get(version, 10_000)


# Flags that are gone: the first minor that refuses them as unknown.
REMOVED_FLAGS: dict[str, int] = {
    "policy-config-file": 23,
    "policy-configmap": 23,
    "policy-configmap-namespace": 23,
    "use-legacy-policy-config": 23,
    "algorithm-provider": 22,
    "scheduler-name": 22,
    "hard-pod-affinity-symmetric-weight": 22,
    "failure-domains": 22,
    "port": 24,
    "address": 24,
    "experimental-logging-sanitization": 24,
    **dict.fromkeys(
        ("add-dir-header", "alsologtostderr", "log-backtrace-at", "log-dir", "log-file",
         "log-file-max-size", "logtostderr", "one-output", "skip-headers", "skip-log-headers",
         "stderrthreshold"),
        26,
    ),
    "lock-object-name": 28,
    "lock-object-namespace": 28,
}  # fmt: skip

#: What --config makes the scheduler ignore, with the field that says the same in the file.
IGNORED_WITH_CONFIG: dict[str, str] = {
    "kubeconfig": "clientConnection.kubeconfig",
    "kube-api-qps": "clientConnection.qps",
    "kube-api-burst": "clientConnection.burst",
    "kube-api-content-type": "clientConnection.contentType",
    "profiling": "enableProfiling",
    "contention-profiling": "enableContentionProfiling",
    "lock-object-name": "leaderElection.resourceName",
    "lock-object-namespace": "leaderElection.resourceNamespace",
}

#: Flags that take no value of their own: ``--leader-elect false`` does not mean what it seems to.
BOOLEAN_FLAGS = frozenset(
    [
        "add-dir-header",
        "alsologtostderr",
        "authentication-skip-lookup",
        "authentication-tolerate-lookup-failure",
        "contention-profiling",
        "disable-http2-serving",
        "help",
        "leader-elect",
        "log-json-split-stream",
        "log-text-split-stream",
        "logtostderr",
        "one-output",
        "permit-address-sharing",
        "permit-port-sharing",
        "profiling",
        "skip-headers",
        "skip-log-headers",
        "use-legacy-policy-config",
        "version",
    ]
)

_OTHER_FLAGS = frozenset(
    [
        "allow-metric-labels",
        "allow-metric-labels-manifest",
        "authentication-kubeconfig",
        "authentication-token-webhook-cache-ttl",
        "authorization-always-allow-paths",
        "authorization-kubeconfig",
        "authorization-webhook-cache-authorized-ttl",
        "authorization-webhook-cache-unauthorized-ttl",
        "bind-address",
        "cert-dir",
        "client-ca-file",
        "config",
        "disabled-metrics",
        "emulated-version",
        "feature-gates",
        "http2-max-streams-per-connection",
        "kube-api-burst",
        "kube-api-content-type",
        "kube-api-qps",
        "kubeconfig",
        "leader-elect-lease-duration",
        "leader-elect-renew-deadline",
        "leader-elect-resource-lock",
        "leader-elect-resource-name",
        "leader-elect-resource-namespace",
        "leader-elect-retry-period",
        "log-backtrace-at",
        "log-dir",
        "log-file",
        "log-file-max-size",
        "log-flush-frequency",
        "log-json-info-buffer-size",
        "log-text-info-buffer-size",
        "logging-format",
        "master",
        "pod-max-in-unschedulable-pods-duration",
        "requestheader-allowed-names",
        "requestheader-client-ca-file",
        "requestheader-extra-headers-prefix",
        "requestheader-group-headers",
        "requestheader-uid-headers",
        "requestheader-username-headers",
        "secure-port",
        "show-hidden-metrics-for-version",
        "stderrthreshold",
        "tls-cert-file",
        "tls-cipher-suites",
        "tls-curve-preferences",
        "tls-min-version",
        "tls-private-key-file",
        "tls-sni-cert-key",
        "v",
        "vmodule",
        "write-config-to",
        "experimental-logging-sanitization",
    ]
)
KNOWN_FLAGS = BOOLEAN_FLAGS | _OTHER_FLAGS | frozenset(REMOVED_FLAGS)

_CORE_PLUGINS = frozenset(
    [
        "DefaultBinder",
        "DefaultPreemption",
        "DynamicResources",
        "ImageLocality",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
        "NodeUnschedulable",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "PrioritySort",
        "SchedulingGates",
        "TaintToleration",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    ]
)
# (first, last) minor of the plugins that the stock scheduler does not have in all of 1.32-1.34.
_OTHER_PLUGINS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"), (22, 31)),
    "SelectorSpread": (22, 28),
    **dict.fromkeys(
        ("NodeLabel", "NodePreferAvoidPods", "NodeResourcesLeastAllocated",
         "NodeResourcesMostAllocated", "RequestedToCapacityRatio", "ServiceAffinity"),
        (22, 22),
    ),
    "GangScheduling": (35, None),
    "NodeDeclaredFeatures": (35, None),
    "TopologyPlacementGenerator": (36, None),
    "PodGroupPodsCount": (36, None),
}  # fmt: skip
_YOUNGER_CORE = {"DynamicResources": 26, "SchedulingGates": 26}


def stock_plugins(minor: int) -> frozenset[str]:
    """The plugins that the stock scheduler of this minor registers."""
    core = {name for name in _CORE_PLUGINS if minor >= _YOUNGER_CORE.get(name, 0)}
    others = {
        name
        for name, (first, last) in _OTHER_PLUGINS.items()
        if first <= minor and (last is None or minor <= last)
    }
    return frozenset(core | others)


_OWN_REGISTRIES = ("registry.k8s.io/", "k8s.gcr.io/")


def image_is_stock(image: str) -> bool:
    """Kubernetes' own scheduler, for sure. From any other registry it may have any plugin."""
    name = image.split("@", 1)[0].rsplit("/", 1)[-1].partition(":")[0]
    return name == "kube-scheduler" and image.startswith(_OWN_REGISTRIES)


def lease_is_granted(minor: int, name: str, namespace: str) -> bool:
    """Whether the scheduler's own roles let it hold this lease (the rest we must grant)."""
    if name == "kube-scheduler":
        return True  # the ClusterRole names the lease in every namespace
    return minor >= 31 and namespace == "kube-system"


def needs_endpoints_right(version: KubeVersion) -> bool:
    """Up to 1.27 leader election may go through an Endpoints object of the lease's name."""
    return version.minor <= 27
