"""What real schedulers said (fixtures/oracles/migrations/record.py): the new texts are taken, and
come to what the old ones came to."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.schedconfig.conversion.configuration import Choices
from kschedpatch.core.schedconfig.conversion.roles import ROLE_POINTS, Roles, roles_of
from kschedpatch.core.schedconfig.conversion.settings import Setting, source_setting, target_setting
from kschedpatch.core.schedconfig.conversion.successors import succeed
from kschedpatch.core.schedconfig.policy.selection import select
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.inputs.migrating import migrate_path
from kschedpatch.model.kubeversion import KubeVersion

FIXTURES = Path(__file__).parents[3] / "fixtures"
SEEN: dict[str, Any] = json.loads((FIXTURES / "configs/migrate/seen.json").read_text())
AFTER = [(name, minor) for name, entry in SEEN.items() for minor in entry["after"]]


def tells(minor: str, answer: dict[str, Any]) -> bool:
    """1.23 to 1.29 do not tell what multiPoint comes to, and 1.22 can't write every Policy."""
    return bool(answer["written"]) and minor_of(minor) not in range(23, 30)


def minor_of(text: str) -> int:
    return int(text.partition(".")[2])


TOLD_AFTER = [(name, minor) for name, minor in AFTER if tells(minor, SEEN[name]["after"][minor])]
TOLD_BEFORE = [
    (name, minor)
    for name, entry in SEEN.items()
    for minor, answer in entry["before"].items()
    if tells(minor, answer)
]
# Younger than 1.22, or without a score of their own: not part of any text of these.
CLOUDS = {"AzureDiskLimits", "EBSLimits", "GCEPDLimits"}
INHERITED = {"NodeResourcesFit", "NodeAffinity"}
LEFT_ALONE = {"DynamicResources", "SchedulingGates", "NodeDeclaredFeatures", "VolumeBinding"}


def value_of_file(name: str) -> dict[str, Any]:
    value = value_of(read((FIXTURES / name).read_bytes()).documents[0])
    assert isinstance(value, dict)
    return value


def seen_roles(points: dict[str, dict[str, int]]) -> Roles:
    """The roles in a scheduler's own words. VolumeBinding scores nothing without its gate."""
    return {
        role: {
            name: (weight or 1) if role == "score" else 0
            for name, weight in points.get(role, {}).items()
            if name not in LEFT_ALONE or (name == "VolumeBinding" and role == "filter")
        }
        for role in ROLE_POINTS
    }


def wanted_roles(name: str, target: Setting) -> dict[str, Roles]:
    """What the file means to its own scheduler, in plugins that the target has."""
    value = value_of_file(name)
    if value["kind"] == "Policy":
        chosen = select(value)
        old = roles_of({}, target_setting(22))
        old = {**old, "filter": dict.fromkeys(chosen.filters, 0), "score": chosen.scores}
        return {"default-scheduler": succeed(old, chosen.args, target.usable_plugins).roles}
    source = source_setting(value, None, target)
    profiles = value.get("profiles") or [{"schedulerName": "default-scheduler"}]
    return {
        profile["schedulerName"]: succeed(
            roles_of(profile.get("plugins"), source), {},
            target.usable_plugins,
        ).roles
        for profile in profiles
    }  # fmt: skip


@pytest.mark.parametrize(("name", "minor"), AFTER)
def test_the_new_text_is_the_one_that_was_taken(name: str, minor: str) -> None:
    answer = SEEN[name]["after"][minor]
    choices = Choices(accept_changes=True)
    result = migrate_path(str(FIXTURES / name), KubeVersion(minor_of(minor)), None, choices)
    digest = hashlib.sha256(result.files[0].after.encode()).hexdigest()
    assert digest == answer["sha256"], "the text differs: record it anew"
    assert answer["verdict"] == ""


@pytest.mark.parametrize(("name", "minor"), TOLD_AFTER)
def test_the_new_text_means_what_the_old_one_did(name: str, minor: str) -> None:
    target = target_setting(minor_of(minor))
    found = SEEN[name]["after"][minor]["profiles"]
    wanted = wanted_roles(name, target)
    assert found.keys() == wanted.keys()
    for profile, roles in wanted.items():
        seen = seen_roles(found[profile]["points"])
        if "NodeVolumeLimits" in roles["filter"] and not CLOUDS & roles["filter"].keys():
            # Going down: limits that the old text's scheduler does not have any more.
            seen["filter"] = {n: w for n, w in seen["filter"].items() if n not in CLOUDS}
        assert seen == roles


@pytest.mark.parametrize(("name", "minor"), TOLD_BEFORE)
def test_our_reading_of_the_old_text_is_the_schedulers(name: str, minor: str) -> None:
    answer = SEEN[name]["before"][minor]
    value = value_of_file(name)
    for profile, found in answer["profiles"].items():
        if value["kind"] == "Policy":
            chosen = select(value)
            roles = roles_of({}, target_setting(22))
            roles = {**roles, "filter": dict.fromkeys(chosen.filters, 0), "score": chosen.scores}
        else:
            given = value.get("profiles") or [{"schedulerName": "default-scheduler"}]
            plugins = next(p.get("plugins") for p in given if p["schedulerName"] == profile)
            setting = source_setting(value, minor_of(minor), target_setting(minor_of(minor)))
            roles = roles_of(plugins, setting)
        assert seen_roles(found["points"]) == roles


@pytest.mark.parametrize(("name", "minor"), TOLD_AFTER)
def test_arguments_stay_what_they_were(name: str, minor: str) -> None:
    before = SEEN[name]["before"].get("1.22", {}).get("profiles", {})
    after = SEEN[name]["after"][minor]["profiles"]
    for profile, found in before.items():
        for plugin, arguments in found["args"].items():
            # NodeResourcesFit has inherited a strategy; NodeAffinity the labels of NodeLabel.
            if plugin in after[profile]["args"] and plugin not in INHERITED:
                now = after[profile]["args"][plugin]
                shared = {key: now.get(key) for key in arguments if key in now}
                assert shared == {key: arguments[key] for key in shared}, plugin
