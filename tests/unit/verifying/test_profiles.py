"""Profiles and plugins by /configz, in both of its forms, and by the log where there is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kschedpatch.core.fleet.verifying.configz import differing_arguments, loaded_profiles
from kschedpatch.core.fleet.verifying.expectations import Expected
from kschedpatch.core.fleet.verifying.profiles import profile_checks
from kschedpatch.model.checks import Check, CheckState
from kschedpatch.model.inspection import Inspection
from tests.unit.fleet.nodes import node
from tests.unit.patches import patch_input

GO = {
    "componentconfig": {
        "Parallelism": 16,
        "Profiles": [
            {
                "SchedulerName": "default-scheduler",
                "Plugins": {
                    "MultiPoint": {"Enabled": [{"Name": "PrioritySort", "Weight": 0}]},
                    "Score": {"Enabled": [{"Name": "GPUMPSPlugin", "Weight": 3}], "Disabled": None},
                },
                "PluginConfig": [
                    {"Name": "VolumeBinding", "Args": {"BindTimeoutSeconds": 60, "Shape": None}},
                    {"Name": "GPUMPSPlugin", "Args": {"Raw": "e30="}},
                ],
            }
        ],
        "Extenders": None,
    }
}


def _v1(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: _v1(item) for key, item in value.items()}
    return [_v1(item) for item in value] if isinstance(value, list) else value


CONFIG = {
    "profiles": [
        {
            "plugins": {"score": {"enabled": [{"name": "GPUMPSPlugin", "weight": 3}]}},
            "pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 60}}],
        }
    ]
}


def checked(configz: Any, config: dict[str, Any] = CONFIG, **fields: Any) -> dict[str, Check]:
    given = patch_input({"verify": {"plugins": ["GPUMPSPlugin"]}}, name="mine")
    text = None if configz is None else json.dumps(configz).encode()
    seen = Inspection("cp1", pid=7, configz=text)._replace(**fields)
    checks = profile_checks(node("cp1").facts, Expected(given, None, config), seen)
    return {check.subject: check for check in checks}


@pytest.mark.parametrize("form", [GO, _v1(GO)], ids=["up to 1.35", "from 1.36"])
def test_all_is_loaded(form: Any) -> None:
    checks = checked(form)
    assert {check.state for check in checks.values()} == {CheckState.OK}
    assert checks["plugin GPUMPSPlugin"].evidence == (
        "/configz: score of default-scheduler, weight 3"
    )


def profile(**fields: Any) -> dict[str, Any]:
    return {"profiles": [{**CONFIG["profiles"][0], **fields}]}


def enabled(point: str, name: str, weight: int) -> dict[str, Any]:
    return profile(plugins={point: {"enabled": [{"name": name, "weight": weight}]}})


CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("profile mine", "N126", "/configz has default-scheduler", profile(schedulerName="mine")),
    ("profile default-scheduler", "N127", "Mine is not on at score", enabled("score", "Mine", 1)),
    ("plugin Mine", "N127", "no profile has switched it on", enabled("score", "Mine", 1)),
    ("profile default-scheduler", "N127", "GPUMPSPlugin weighs 3 at score, not 5",
     enabled("score", "GPUMPSPlugin", 5)),
    ("profile default-scheduler", "N127", "not on at filter", enabled("filter", "GPUMPSPlugin", 0)),
    ("arguments of VolumeBinding in default-scheduler", "N128",
     "bindTimeoutSeconds is 60, not 90",
     profile(pluginConfig=[{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 90}}])),
]  # fmt: skip


@pytest.mark.parametrize("subject, code, words, config", CASES)
def test_one_thing_is_not(subject: str, code: str, words: str, config: dict[str, Any]) -> None:
    check = checked(GO, config)[subject]
    assert (check.state, check.findings[0].code) == (CheckState.FAILED, code)
    assert words in check.evidence


def test_arguments_that_the_scheduler_keeps_to_itself_are_not_judged() -> None:
    config = profile(pluginConfig=[{"name": "GPUMPSPlugin", "args": {"key": "mps"}}])
    check = checked(GO, config)["arguments of GPUMPSPlugin in default-scheduler"]
    assert check.state is CheckState.NOT_CHECKED


@pytest.mark.parametrize(
    "wanted, loaded, differences",
    [
        ({"timeout": "60s"}, {"Timeout": "1m0s"}, 0),
        ({"timeout": "61s"}, {"Timeout": "1m0s"}, 1),
        ({"list": [{"name": "cpu"}]}, {"List": [{"Name": "cpu", "Weight": 1}]}, 0),
        ({"list": [{"name": "cpu"}]}, {"List": [{"Name": "memory"}]}, 1),
        ({"list": [1, 2]}, {"List": [1]}, 1),
        ({"apiVersion": "x/v1", "kind": "A"}, {"Kind": "B", "APIVersion": ""}, 0),
        ({"unknown": 1}, {}, 0),
        ({"on": False}, {"On": True}, 1),
    ],
)
def test_arguments_are_compared_by_meaning(wanted: Any, loaded: Any, differences: int) -> None:
    assert len(list(differing_arguments(wanted, loaded))) == differences


@pytest.mark.parametrize("text", [b"", b"not JSON", b"[]", b'{"componentconfig": 3}', b"[" * 90000])
def test_whatever_configz_says_nothing_breaks(text: bytes) -> None:
    assert loaded_profiles(text) is None


def test_without_configz_a_log_line_is_the_evidence_and_its_absence_none() -> None:
    log = b'2026-11-16T20:00:00Z stderr F I1116 "starts to work with those plugins" GPUMPSPlugin\n'
    checks = checked(None, configz_problem="/configz says HTTP 403", log=log)
    assert checks["plugin GPUMPSPlugin"].state is CheckState.OK
    assert "those plugins" in checks["plugin GPUMPSPlugin"].evidence
    assert checks["profile default-scheduler"].state is CheckState.NOT_CHECKED
    assert "HTTP 403" in checks["profile default-scheduler"].evidence
