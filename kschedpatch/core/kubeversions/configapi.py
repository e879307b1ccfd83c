"""Which versions of the KubeSchedulerConfiguration a minor reads."""

from __future__ import annotations

CONFIG_GROUP = "kubescheduler.config.k8s.io"
CONFIG_KIND = "KubeSchedulerConfiguration"
POLICY_KIND = "Policy"

OLDEST_MINOR, NEWEST_MINOR = 22, 36

# Oldest and newest minor that reads each version of the configuration (None: still read).
_CONFIG_VERSIONS: dict[str, tuple[int, int | None]] = {
    "v1beta1": (22, 22),
    "v1beta2": (22, 27),
    "v1beta3": (23, 28),
    "v1": (25, None),
}
# From which minor on the scheduler logs a version as deprecated.
_CONFIG_DEPRECATED = {"v1beta2": 25, "v1beta3": 26}


def config_versions(minor: int) -> tuple[str, ...]:
    """The versions that this minor reads, the best one last."""
    return tuple(
        version
        for version, (first, last) in _CONFIG_VERSIONS.items()
        if first <= minor and (last is None or minor <= last)
    )


def minors_reading(version: str) -> tuple[int, int] | None:
    """The oldest and the newest minor that reads a version; None for a version nobody reads."""
    known = _CONFIG_VERSIONS.get(version)
    return None if known is None else (known[0], known[1] or NEWEST_MINOR)


def best_config_version(minor: int) -> str:
    return f"{CONFIG_GROUP}/{config_versions(minor)[-1]}"


def is_deprecated_config(version: str, minor: int) -> bool:
    return minor >= _CONFIG_DEPRECATED.get(version, 10_000)
