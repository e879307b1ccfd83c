"""Rules of leader election, with the command line on top of the file."""

from __future__ import annotations

from collections.abc import Iterator

from kschedpatch.core.schedconfig.election import duration_problems, election
from kschedpatch.core.schedconfig.surroundings import Decoded
from kschedpatch.model.finding import Finding

_OLD_LOCKS = ("endpoints", "configmaps")
_DOUBLE_LOCKS = ("endpointsleases", "configmapsleases")


def leadership_findings(decoded: Decoded) -> Iterator[Finding]:
    """The file as it was written: its durations are read by the same reader as the flags'."""
    section = decoded.value.get("leaderElection") or {}
    chosen = election(decoded.config.value, decoded.around.flags)
    wanted, flags = section.get("leaderElect"), decoded.around.flags
    if "leader-elect" in flags and wanted is not None and wanted != chosen.enabled:
        message = f"--leader-elect={flags['leader-elect']} on the command line wins"
        yield decoded.at("C014", ("leaderElection", "leaderElect"), message)
    if not chosen.enabled:
        return
    for code, key, message in duration_problems(chosen, decoded.minor):
        yield decoded.at(code, ("leaderElection", key), message)
    locks = lock_types(decoded.minor)
    if chosen.lock not in locks:
        here = ("leaderElection", "resourceLock")
        message = f"resourceLock is {chosen.lock!r}, 1.{decoded.minor} takes {', '.join(locks)}"
        yield decoded.at("C006", here, message, "resourceLock: leases")
    for key, name in (("resourceName", chosen.name), ("resourceNamespace", chosen.namespace)):
        if not name:
            message = f"{key} is empty by its --leader-elect-… flag"
            yield decoded.at("C028", ("leaderElection", key), message)


def lock_types(minor: int) -> tuple[str, ...]:
    if minor >= 27:
        return ("leases",)
    return ("leases", *_DOUBLE_LOCKS, *(_OLD_LOCKS if minor <= 23 else ()))
