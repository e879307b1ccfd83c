"""Flags of kube-scheduler by minor."""

from __future__ import annotations

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
