"""The Ansible module without Ansible: its words, its documentation, what it makes of answers.

tests/ansible has the same with a real ansible-playbook.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ruamel.yaml import YAML

from kschedpatch.model import exitcodes
from tests.unit.command_line import run

ROLE = Path(__file__).parents[2] / "integrations/ansible/roles/kschedpatch"
#: Nobody listens there.
NOWHERE = "127.0.0.1:1"


def loaded() -> ModuleType:
    # By its path: its name is that of the package as well.
    spec = importlib.util.spec_from_file_location("module", ROLE / "library/kschedpatch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = loaded()


def read(text: str | Path) -> Any:
    return YAML(typ="safe").load(text)


def parameters(**given: Any) -> dict[str, Any]:
    """What AnsibleModule makes of a task."""
    return {name: spec.get("default") for name, spec in MODULE.ARGUMENTS.items()} | given


def test_documentation_and_arguments_say_the_same() -> None:
    documented = read(MODULE.DOCUMENTATION)["options"]
    assert set(documented) == set(MODULE.ARGUMENTS)
    for name, spec in MODULE.ARGUMENTS.items():
        told = {key: value for key, value in documented[name].items() if key != "description"}
        assert told == {"type": "str", **spec}, name
    read(MODULE.EXAMPLES)
    assert "left_changed" in read(MODULE.RETURN)


def test_the_role_hands_over_what_it_says() -> None:
    options = read(ROLE / "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    task = read(ROLE / "tasks/main.yml")[0]
    assert (task["delegate_to"], task["run_once"], task["become"]) == ("localhost", True, False)
    handed = task["kschedpatch"]
    assert set(handed) <= set(MODULE.ARGUMENTS)
    named = {re.search(r"kschedpatch_\w+", str(text))[0] for text in handed.values()}  # type: ignore[index]
    assert named == set(options) - {"kschedpatch_group"}
    assert set(read(ROLE / "defaults/main.yml")) <= set(options)
    for name, text in handed.items():
        assert f"kschedpatch_{name}" in str(text)


EVERYTHING = {
    "ssh_config": "ssh_config",
    "identity": "key",
    "known_hosts": "known_hosts",
    "accept_new_host_keys": True,
    "connect_timeout": 1.0,
    "discover": True,
    "partial": True,
    "reason": "--yes",
    "probe": True,
    "on_failure": "stop",
    "settle": 1.0,
    "timeout": 5.0,
    "pull_timeout": 5.0,
    "objects_timeout": 5.0,
    "confirm_timeout": 30,
    "preflight": False,
    "canary": False,
    "nodes": [NOWHERE],
}


@pytest.mark.parametrize("command", ["plan", "apply", "rollback"])
def test_the_program_knows_every_flag(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No node is there: that it complains of the node means that it has understood the rest."""
    monkeypatch.chdir(tmp_path)
    for name in ("ssh_config", "key", "known_hosts"):
        Path(name).touch()
    Path("-patch.yaml").write_text(
        "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: mine}\n"
        'spec: {scheduler: {args: {v: "5"}}}\n'
    )
    words = MODULE.command_words(parameters(**EVERYTHING, patch="-patch.yaml"), command)
    ran = run(*words[1:])
    body = json.loads(ran.out)
    assert (ran.code, [found["code"] for found in body["findings"]]) == (3, ["N029"]), ran.err
    more = parameters(**{**EVERYTHING, "probe": False, "partial": False}, patch="-patch.yaml")
    kept = more | {"persist": True, "transport": "openssh", "discover": False}
    ran = run(*MODULE.command_words(kept, command)[1:])
    assert (ran.code, "N029" in ran.out) == (3, True), ran.err


def test_a_dry_run_of_a_rollback_changes_nothing() -> None:
    words = MODULE.command_words(parameters(nodes=["cp1"]), "rollback", dry_run=True)
    assert "--dry-run" in words
    assert "--yes" not in words
    assert "--to=original" in words
    assert "--yes" not in MODULE.command_words(parameters(recipe="gpumps"), "plan")


def test_no_value_becomes_a_flag() -> None:
    words = MODULE.command_words(parameters(patch="--yes", nodes=["-x", "--local"]), "apply")
    assert words[words.index("--") :] == ["--", "-x", "--local"]
    assert "--file=--yes" in words
    ran = run(*words[1:])
    assert ran.code == exitcodes.INVALID
    assert "there is no such file" in ran.out


@pytest.mark.parametrize(
    ("code", "left"),
    [
        (exitcodes.INVALID, False),
        (exitcodes.REFUSED, False),
        (exitcodes.ROLLED_BACK, False),
        (exitcodes.NOT_RESTORED, True),
        (exitcodes.INTERNAL, None),
        (exitcodes.INTERRUPTED, None),
        (-9, None),
        (1, None),
    ],
)
def test_every_exit_code_says_how_the_nodes_stand(code: int, left: bool | None) -> None:
    told = MODULE.failure_of(["kschedpatch", "apply"], code, None, "Error: no such flag\n")
    assert told["left_changed"] is left
    assert told["changed"] is bool(left)
    assert "Error: no such flag" in told["msg"]
    assert told["msg"].endswith(told["advice"])


def test_a_failure_is_told_by_what_the_document_says() -> None:
    body = {
        "apiVersion": "kschedpatch.io/v1",
        "changed": False,
        "findings": [{"severity": "error", "message": "cp1: \x1b[31mred"}],
        "failure": {"node": "cp1", "detail": "it crashed"},
        "conclusion": "Every node is back.",
        "next": "kschedpatch status cp1",
    }
    told = MODULE.failure_of(["kschedpatch", "apply"], 4, body, "")
    assert "cp1: it crashed Every node is back. Now: kschedpatch status cp1." in told["msg"]
    assert "\x1b" not in told["msg"]
    assert told["failure"] == body["failure"]


def test_a_difference_has_what_changes_and_nothing_else() -> None:
    file = {"name": "scheduler-config.yaml", "content": "kind: x\n", "sha256": "00"}
    node = {"node": "cp1", "diff": "-a\n+\x1bb\n", "changed": True, "generation": "g1"}
    body = {
        "nodes": [node],
        "generations": [{"id": "g1", "directory": "/etc/g1", "files": [file]}],
        "objectChanges": [
            {"object": "ClusterRole x", "action": "create"},
            {"object": "ClusterRole y", "action": "unchanged"},
        ],
        "persist": {"configDiff": ["+  scheduler: {}"]},
    }
    assert [part["prepared"] for part in MODULE.difference(body)] == [
        "cp1:\n-a\n+�b\n",
        "+++ /etc/g1/scheduler-config.yaml\n+kind: x\n",
        "ClusterRole x: create\n",
        "+  scheduler: {}\n",
    ]
    same = body | {"nodes": [node | {"diff": "", "changed": False}], "objectChanges": []}
    assert MODULE.difference(same | {"persist": None}) == []


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"no",
        b"[1]",
        b'{"changed": true}',
        b'{"apiVersion": "kschedpatch.io/v1"}',
        b"[" * 99999,
    ],
)
def test_what_is_no_document_is_none(text: bytes) -> None:
    assert MODULE.document(text) is None


def test_an_endless_answer_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "MAX_OUTPUT", 10)
    whole = b'{"apiVersion": "kschedpatch.io/v1", "changed": true}'
    assert MODULE.document(whole) is None


def test_the_program_gets_words_and_no_input(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nread -r line && exit 9\nprintf "%s\\n" "$@" >&2\nexit 3\n')
    program.chmod(0o755)
    # Somebody's terminal, who may be asked something: not by this program.
    ours, theirs = os.pipe()
    os.write(theirs, b"an answer\n")
    kept = os.dup(0)
    os.dup2(ours, 0)
    try:
        code, body, said = MODULE.run([str(program), "$(id)", "a b", "\x1b[1m"])
    finally:
        os.dup2(kept, 0)
        for one in (ours, theirs, kept):
            os.close(one)
    assert (code, body) == (3, None)
    assert said.splitlines() == ["$(id)", "a b", "�[1m"]
