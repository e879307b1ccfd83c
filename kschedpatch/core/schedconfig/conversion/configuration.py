"""Converts a configuration to what another minor reads, up or down, without changing its meaning.

What the target can't say is told, and left out only where that is accepted.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from kschedpatch.core.kubeversions import CONFIG_GROUP, CONFIG_KIND
from kschedpatch.core.schedconfig.conversion.journal import Journal
from kschedpatch.core.schedconfig.conversion.profile import ProfileConverter
from kschedpatch.core.schedconfig.conversion.settings import Setting
from kschedpatch.core.schedconfig.read import ConfigText
from kschedpatch.model.finding import Finding, Path


class Choices(NamedTuple):
    """What the user lets a migration do."""

    accept_changes: bool = False
    new_weights: bool = False
    """Take the target's default weights instead of writing the old ones out."""


class Conversion(NamedTuple):
    value: dict[str, Any]
    findings: tuple[Finding, ...]


_SHARED_LOCKS = {"endpointsleases", "configmapsleases"}


def convert(config: ConfigText, source: Setting, target: Setting, choices: Choices) -> Conversion:
    """``config`` must have the right shape: lists where lists belong."""
    journal = Journal(config.at, accept=choices.accept_changes)
    value = copy.deepcopy(config.value)
    if value.get("apiVersion") is not None:
        wanted = f"{CONFIG_GROUP}/{target.version}"
        if value["apiVersion"] != wanted:
            journal.changed(("apiVersion",), f"{value['apiVersion']} becomes {wanted}")
            value["apiVersion"] = wanted
    _bind_addresses(value, target, journal)
    _cache(value, target, journal)
    _lock(value, target, journal)
    _profile_percentages(value, target, journal)
    profiles = value.get("profiles") or [{}]
    for index, profile in enumerate(profiles):
        here: Path = ("profiles", index) if value.get("profiles") else ()
        ProfileConverter(source, target, journal, new_weights=choices.new_weights).convert(
            profile, here
        )
    if not value.get("profiles") and profiles[0]:
        value["profiles"] = [{"schedulerName": "default-scheduler", **profiles[0]}]
    return Conversion(value, tuple(journal.findings))


def _bind_addresses(value: dict[str, Any], target: Setting, journal: Journal) -> None:
    """Unencrypted ports for health and metrics, which only 1.22 serves."""
    if target.minor == 22:
        return
    for key in ("healthzBindAddress", "metricsBindAddress"):
        if key in value:
            address = value.pop(key)
            message = "taken away: the unencrypted port is gone"
            if address and not str(address).endswith(":0"):
                message += f", {address} no longer answers; 10259 serves the same with TLS"
            journal.changed((key,), message)


def _cache(value: dict[str, Any], target: Setting, journal: Journal) -> None:
    key = "delayCacheUntilActive"
    if key in value and not target.has_field(CONFIG_KIND, key):
        if value.pop(key):
            journal.lost((key,), f"1.{target.minor} always fills its cache, also as a standby")
        else:
            journal.changed((key,), f"taken away: 1.{target.minor} has no such field")


def _lock(value: dict[str, Any], target: Setting, journal: Journal) -> None:
    section = value.get("leaderElection")
    if not isinstance(section, dict):
        return
    lock = section.get("resourceLock")
    if not lock or lock == "leases" or target.minor < 24:
        return
    if lock in _SHARED_LOCKS and target.minor < 27:
        return
    section["resourceLock"] = "leases"
    here: Path = ("leaderElection", "resourceLock")
    hint = ""
    if lock not in _SHARED_LOCKS:
        hint = f"go through {lock}leases on the old minor first: it holds both"
    journal.noted("U007", here, f"{lock} becomes leases", hint)


def _profile_percentages(value: dict[str, Any], target: Setting, journal: Journal) -> None:
    """One for all, where a profile can't have its own yet."""
    key = "percentageOfNodesToScore"
    profiles = value.get("profiles") or []
    is_known = target.has_field("KubeSchedulerProfile", key)
    if is_known or not any(key in item for item in profiles):
        return
    own = [profile.pop(key, None) for profile in profiles]
    first = next(index for index, percentage in enumerate(own) if percentage is not None)
    here: Path = ("profiles", first, key)
    if all(percentage == own[first] for percentage in own):
        value[key] = own[first]
        journal.changed(here, f"all profiles have it: it stands at the top in {target.version}")
    else:
        journal.lost(here, f"{target.version} has one percentage for all profiles")
