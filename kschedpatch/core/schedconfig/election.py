"""Leader election as it comes out of the configuration and the flags."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_DURATION = re.compile(r"([0-9]*\.?[0-9]+)(ns|us|µs|ms|s|m|h)", re.ASCII)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class Election(NamedTuple):
    """Leader election as it comes out of file and flags: flags on the command line win."""

    enabled: bool
    name: str
    namespace: str
    durations: tuple[float | None, float | None, float | None]
    lock: str


def election(value: dict[str, Any], flags: Mapping[str, str]) -> Election:
    section = value.get("leaderElection")
    section = section if isinstance(section, dict) else {}

    def pick(flag: str, key: str, default: Any) -> Any:
        if flag in flags:
            return flags[flag]
        return section.get(key) if section.get(key) not in (None, "") else default

    enabled = pick("leader-elect", "leaderElect", True)
    return Election(
        enabled=enabled
        if isinstance(enabled, bool)
        else str(enabled).lower() in {"true", "1", "t"},
        name=str(pick("leader-elect-resource-name", "resourceName", "kube-scheduler")),
        namespace=str(pick("leader-elect-resource-namespace", "resourceNamespace", "kube-system")),
        durations=(
            seconds(pick("leader-elect-lease-duration", "leaseDuration", "15s")),
            seconds(pick("leader-elect-renew-deadline", "renewDeadline", "10s")),
            seconds(pick("leader-elect-retry-period", "retryPeriod", "2s")),
        ),
        lock=str(pick("leader-elect-resource-lock", "resourceLock", "leases")),
    )


def duration_problems(chosen: Election) -> Iterator[tuple[str, str]]:
    """Which duration, and why the elector ends the scheduler with it. The second is found by no
    reader of the configuration, only at run time."""
    lease, renew, retry = chosen.durations
    if not chosen.enabled:
        return
    if lease is not None and renew is not None and lease <= renew:
        yield (
            "leaseDuration",
            f"leaseDuration ({lease:g} s) must exceed renewDeadline ({renew:g} s)",
        )
    if renew is not None and retry is not None and renew <= 1.2 * retry:
        yield (
            "renewDeadline",
            f"renewDeadline ({renew:g} s) must exceed 1.2 × retryPeriod ({retry:g} s)",
        )


def seconds(text: Any) -> float | None:
    """A Go duration in seconds; None where it is none."""
    parts = _DURATION.findall(text) if isinstance(text, str) else []
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)
