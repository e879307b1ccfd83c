"""The Ansible role and its module, by a real ansible-playbook, on simulated nodes.

`make ansible-test` runs this: it brings ansible-core in an environment of its own. A playbook takes
seconds to start, so one has all steps of a day.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.integration.sandbox.standing import Bench, standing_sandbox
from tests.shownpages import missing_line, shown_sessions

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/ansible-and-ci.md"
PROGRAMS = ROOT / ".venv-ansible/bin"
ROLES = ROOT / "integrations/ansible/roles"
PATCHES = ("gpumps.yaml", "without-plugin.yaml", "breaks-on-first-pod.yaml")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    if not (PROGRAMS / "ansible-playbook").exists():
        pytest.fail("ansible-core is not there: run make ansible-test")
    directory = tmp_path_factory.mktemp("ansible")
    with standing_sandbox(directory, 2, PROGRAMS) as made:
        work = made.directory
        (work / "roles").symlink_to(ROLES)
        for name in ("ssh_config", *PATCHES):
            shutil.copy(made.sandbox / name, work)
        shutil.copytree(made.sandbox / "gpumps", work / "gpumps")
        text = PAGE.read_text("utf-8")
        for kind, name in (("yaml", "scheduler.yml"), ("ini", "hosts.ini")):
            (block,) = re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)
            (work / name).write_text(block)
        made.environment |= {
            "ANSIBLE_LIBRARY": str(ROLES / "kschedpatch/library"),
            "ANSIBLE_HOME": str(directory / "ansible"),
            "ANSIBLE_REMOTE_TMP": str(directory / "ansible/tmp"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_LOCALHOST_WARNING": "0",
        }
        yield made


def manifests(bench: Bench) -> list[bytes]:
    return [bench.manifest(node).read_bytes() for node in ("cp1", "cp2")]


class Step(NamedTuple):
    """A task, and whether it is in check mode, in diff mode."""

    parameters: dict[str, Any]
    check: bool = False
    diff: bool = False


class Done(NamedTuple):
    told: dict[str, Any]
    hashes: str
    """Of the nodes' manifests after it."""


def carried_out(bench: Bench, steps: dict[str, Step]) -> dict[str, Done]:
    """All steps in one playbook, whatever becomes of each."""
    files = [str(bench.manifest(node)) for node in ("cp1", "cp2")]
    tasks: list[dict[str, Any]] = []
    for name, step in steps.items():
        given = {"ssh_config": "ssh_config", "nodes": ["cp1", "cp2"], **step.parameters}
        modes = {"check_mode": step.check, "diff": step.diff}
        task = {"name": name, "kschedpatch": given, "register": f"told_{name}", **modes}
        tasks += [
            {**task, "ignore_errors": True},
            {"command": {"argv": ["sha256sum", *files]}, "register": f"seen_{name}"},
        ]
    pairs = ", ".join(f"'{name}': [told_{name}, seen_{name}.stdout]" for name in steps)
    result = {"content": f"{{{{ {{{pairs}}} | to_json }}}}", "dest": "{{ playbook_dir }}/told.json"}
    tasks.append({"name": "keep", "copy": result})
    play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
    (bench.directory / "play.yml").write_text(json.dumps([play]))
    ran = bench.types("ansible-playbook play.yml")
    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    told = json.loads((bench.directory / "told.json").read_text())
    return {name: Done(*told[name]) for name in steps}


def test_the_page_is_true(bench: Bench) -> None:
    """Each command of docs/how-to/ansible-and-ci.md: looked at, applied, again, taken back."""
    first = manifests(bench)
    (session,) = shown_sessions(PAGE)
    seen = []
    for shown in session:
        ran = bench.types(shown.command)
        assert ran.returncode == 0, (shown.command, ran.stdout, ran.stderr)
        missing = missing_line(shown.output, ran.stdout.splitlines())
        assert missing is None, (shown.command, missing, ran.stdout)
        seen.append(manifests(bench))
    looked, applied, again, taken_back = seen
    assert looked == first
    assert all(b"registry.sandbox/kube-scheduler-gpumps" in text for text in applied)
    assert again == applied
    assert taken_back == first


@pytest.fixture(scope="module")
def day(bench: Bench) -> dict[str, Done]:
    command = "kschedpatch plan -f gpumps.yaml --ssh-config ssh_config --out kept.json cp1 cp2"
    planned = bench.types(command)
    assert planned.returncode == 0, planned.stderr
    absent = {"state": "absent"}
    steps = {
        "nothing": Step(absent, check=True, diff=True),
        "dashed": Step({"patch": "gpumps.yaml", "nodes": ["-x"]}),
        "neither": Step({}),
        "nowhere": Step({"patch": "gpumps.yaml", "executable": "/nonexistent/kschedpatch"}),
        "bad": Step({"patch": "without-plugin.yaml"}),
        "breaks": Step({"patch": "breaks-on-first-pod.yaml"}),
        "kept_checked": Step({"plan": "kept.json"}, check=True),
        "kept": Step({"plan": "kept.json", "nodes": []}),
        "again": Step({"patch": "gpumps.yaml"}, diff=True),
        "kept_stale": Step({"plan": "kept.json", "nodes": []}),
        "back_checked": Step(absent, check=True, diff=True),
        "back": Step(absent),
        "back_again": Step(absent),
    }
    return carried_out(bench, steps)


def prepared(done: Done) -> str:
    return "".join(part["prepared"] for part in done.told["diff"])


def test_what_is_there_already_is_not_changed_and_not_shown(day: dict[str, Done]) -> None:
    assert {node["outcome"] for node in day["kept"].told["nodes"]} == {"changed"}
    assert (day["again"].told["changed"], prepared(day["again"])) == (False, "")
    assert day["again"].hashes == day["kept"].hashes != day["nothing"].hashes


def test_state_absent(day: dict[str, Done]) -> None:
    assert day["nothing"].told["changed"] is False
    assert (day["nothing"].told["exit_code"], prepared(day["nothing"])) == (0, "")
    assert day["back_checked"].told["changed"] is True
    assert "-    image: registry.sandbox/" in prepared(day["back_checked"])
    assert day["back_checked"].hashes == day["kept"].hashes
    assert [day[name].told["changed"] for name in ("back", "back_again")] == [True, False]
    assert day["back"].hashes == day["back_again"].hashes == day["nothing"].hashes


def test_a_bad_patch_touches_nothing_and_says_so(day: dict[str, Done]) -> None:
    told, hashes = day["bad"]
    assert (told["failed"], told["exit_code"], told["changed"]) == (True, 3, False)
    assert told["left_changed"] is False
    assert "GPUMPSPlugin" in json.dumps(told["failure"])
    assert "Nothing live was touched" in told["msg"]
    assert hashes == day["nothing"].hashes


def test_one_that_breaks_at_run_time_is_rolled_back_and_says_so(day: dict[str, Done]) -> None:
    told, hashes = day["breaks"]
    assert (told["failed"], told["exit_code"], told["left_changed"]) == (True, 4, False)
    assert {node["outcome"] for node in told["nodes"]} == {"restored"}
    assert hashes == day["nothing"].hashes


def test_a_kept_plan(day: dict[str, Done]) -> None:
    assert day["kept_checked"].told["skipped"] is True
    assert day["kept_checked"].hashes == day["nothing"].hashes
    assert day["kept"].told["changed"] is True
    stale = day["kept_stale"].told
    assert (stale["failed"], stale["exit_code"], stale["left_changed"]) == (True, 3, False)


def test_wrong_use_is_told_in_words(day: dict[str, Done]) -> None:
    assert day["dashed"].told["exit_code"] == 2
    assert "starts with a dash" in day["dashed"].told["msg"]
    assert "patch, recipe, plan" in day["neither"].told["msg"]
    assert "/nonexistent/kschedpatch: No such file" in day["nowhere"].told["msg"]


def test_the_documentation_can_be_read(bench: Bench) -> None:
    for words, expected in (("module", "left_changed"), ("role -r roles", "kschedpatch_patch")):
        ran = bench.types(f"ansible-doc -t {words} kschedpatch")
        assert ran.returncode == 0, ran.stderr
        assert expected in ran.stdout
