"""Leader election as it comes out of the configuration and the flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kschedpatch.core.schedconfig.durations import nanoseconds

_TRUE = frozenset(["1", "t", "T", "TRUE", "true", "True"])
_DURATIONS = (
    ("leader-elect-lease-duration", "leaseDuration", "15s"),
    ("leader-elect-renew-deadline", "renewDeadline", "10s"),
    ("leader-elect-retry-period", "retryPeriod", "2s"),
)


class Election(NamedTuple):
    """Leader election as it comes out of file and flags: flags on the command line win."""

    enabled: bool
    name: str
    namespace: str
    durations: tuple[float | None, float | None, float | None]
    lock: str


def election(value: Mapping[str, Any], flags: Mapping[str, str]) -> Election:
    section = value.get("leaderElection")
    section = section if isinstance(section, dict) else {}

    def pick(flag: str, key: str, default: str) -> str:
        if flag in flags:
            return flags[flag]
        return str(section.get(key) or default)

    def duration(flag: str, key: str, default: str) -> float | None:
        # In the file zero is «not set»; a flag means what it says.
        if flag not in flags and seconds(section.get(key)) == 0:
            return seconds(default)
        return seconds(pick(flag, key, default))

    wanted = section.get("leaderElect")
    lease, renew, retry = (duration(*which) for which in _DURATIONS)
    return Election(
        enabled=flags["leader-elect"] in _TRUE if "leader-elect" in flags else wanted is not False,
        name=pick("leader-elect-resource-name", "resourceName", "kube-scheduler"),
        namespace=pick("leader-elect-resource-namespace", "resourceNamespace", "kube-system"),
        durations=(lease, renew, retry),
        lock=pick("leader-elect-resource-lock", "resourceLock", "leases"),
    )


class DurationProblem(NamedTuple):
    code: str
    key: str
    message: str


def duration_problems(chosen: Election, minor: int | None) -> Iterator[DurationProblem]:
    """Which duration, and why the scheduler ends with it: C017 when it reads the configuration,
    C041 only when its elector starts."""
    if not chosen.enabled:
        return
    lease, renew, retry = chosen.durations
    keys = ("leaseDuration", "renewDeadline", "retryPeriod")
    for key, span in zip(keys, chosen.durations, strict=True):
        if span is not None and span <= 0:
            yield DurationProblem("C017", key, f"{key} ({span:g} s) must be positive")
    if lease is not None and renew is not None and lease <= renew:
        # Up to 1.25 only the elector minds two that are the same.
        late = lease == renew and minor is not None and minor <= 25
        message = f"leaseDuration ({lease:g} s) must exceed renewDeadline ({renew:g} s)"
        yield DurationProblem("C041" if late else "C017", "leaseDuration", message)
    if renew is not None and retry is not None and renew <= 1.2 * retry:
        message = f"renewDeadline ({renew:g} s) must exceed 1.2 × retryPeriod ({retry:g} s)"
        yield DurationProblem("C041", "renewDeadline", message)


def seconds(text: Any) -> float | None:
    """A Go duration in seconds; None where it is none."""
    span = nanoseconds(text) if isinstance(text, str) else None
    return None if span is None else span / 10**9
