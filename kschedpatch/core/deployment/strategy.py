"""Does a Deployment keep a scheduler at work while it changes? By its own strategy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from kschedpatch.model.clusterplan import Object
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding

#: Seconds after which Kubernetes itself calls a roll-out failed that does not go on.
PROGRESS_DEADLINE = 600
_LONGEST = 3600


def strategy_findings(deployment: Object, title: str) -> Iterator[Finding]:
    spec = deployment.get("spec") or {}
    replicas = spec.get("replicas", 1)
    strategy = spec.get("strategy") or {}
    if spec.get("paused"):
        message = f"{title} is paused: nothing that is applied to it would run"
        yield found("N082", message, hint="kubectl rollout resume")
    if not isinstance(replicas, int) or replicas < 1:
        yield found("N082", f"{title} has no replicas: nothing of it would be proven")
        return
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        message = f"{title} has the strategy {strategy.get('type')}: its old pods end first"
        yield found("N082", message, hint="strategy: {type: RollingUpdate}")
        return
    away = unavailable(strategy, replicas)
    if replicas - away < 1:
        message = f"{title} may be without any pod while it changes (maxUnavailable)"
        yield found("N082", message, hint="strategy.rollingUpdate.maxUnavailable: 0")


def unavailable(strategy: dict[str, Any], replicas: int) -> int:
    """How many pods may be missing, as the Deployment's controller reckons."""
    rolling = strategy.get("rollingUpdate") or {}
    away = _resolved(rolling.get("maxUnavailable", "25%"), replicas, math.floor)
    surge = _resolved(rolling.get("maxSurge", "25%"), replicas, math.ceil)
    return 1 if away == 0 and surge == 0 else min(away, replicas)


def _resolved(value: Any, replicas: int, rounded: Any) -> int:
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdecimal():
        return int(rounded(int(value[:-1]) * replicas / 100))
    return value if isinstance(value, int) else 0


def ends_by_itself(deployment: Object) -> bool:
    """Whether Kubernetes gives up a roll-out that hangs, within an hour."""
    seconds = (deployment.get("spec") or {}).get("progressDeadlineSeconds", PROGRESS_DEADLINE)
    return isinstance(seconds, int) and seconds <= _LONGEST
