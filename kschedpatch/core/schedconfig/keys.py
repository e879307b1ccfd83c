"""The keys of a configuration and of its sections. Decoding is strict, and case counts."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from kschedpatch.core.schedconfig.read import ConfigText
from kschedpatch.model.finding import Finding, Path

_TOP_KEYS = frozenset(
    """apiVersion kind parallelism leaderElection clientConnection healthzBindAddress
    metricsBindAddress enableProfiling enableContentionProfiling percentageOfNodesToScore
    podInitialBackoffSeconds podMaxBackoffSeconds profiles extenders
    delayCacheUntilActive""".split()
)
_SECTION_KEYS = {
    "leaderElection": frozenset(
        """leaderElect leaseDuration renewDeadline retryPeriod resourceLock resourceName
        resourceNamespace""".split()
    ),
    "clientConnection": frozenset("kubeconfig acceptContentTypes contentType qps burst".split()),
}
_ITEM_KEYS = {
    "profiles": frozenset("schedulerName percentageOfNodesToScore plugins pluginConfig".split()),
    "extenders": frozenset(
        """urlPrefix filterVerb preemptVerb prioritizeVerb weight bindVerb enableHTTPS tlsConfig
        httpTimeout nodeCacheCapable managedResources ignorable""".split()
    ),
}


def unknown_key_findings(config: ConfigText) -> Iterator[Finding]:
    value = config.value
    sections: list[tuple[Path, Any, frozenset[str]]] = [((), value, _TOP_KEYS)]
    sections += [((name,), value.get(name), keys) for name, keys in _SECTION_KEYS.items()]
    for name, keys in _ITEM_KEYS.items():
        items = value.get(name)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            sections.append(((name, index), item, keys))
    for path, section, keys in sections:
        for key in section if isinstance(section, dict) else ():
            if key not in keys:
                near = get_close_matches(key[:40], keys, n=1)
                hint = f"did you mean {near[0]}?" if near else ""
                yield config.at("C021", (*path, key), f"there is no field {key!r} here", hint)
