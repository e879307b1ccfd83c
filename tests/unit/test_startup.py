"""What is loaded before it is needed: each library here costs as much time as a node's answer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from kschedpatch.node import sshlibrary
from kschedpatch.node.sshlibrary import paramiko
from tests.unit.test_layers import MODULES, PACKAGE, imported

#: The one that imports it; the others take it from there.
SSH_LIBRARY = PACKAGE / "node" / "sshlibrary.py"
BASH = shutil.which("bash")
PATCHES = ("pydantic", "ruamel.yaml", "difflib", "jsonschema")


def loaded_after(code: str, *watched: str, path: str | None = None) -> list[str]:
    """Which of these modules a fresh Python has loaded then."""
    script = f"{code}\nimport sys\nprint(*(m for m in {watched!r} if m in sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ if path is None else {**os.environ, "PATH": path},
    )
    return ran.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(
    "module", ["kschedpatch.rollout.run", "kschedpatch.rollout.fleet", "tests.bench.ourjob"]
)
def test_a_roll_out_loads_nothing_that_reads_patches(module: str) -> None:
    assert loaded_after(f"import {module}", *PATCHES, "decimal", "paramiko") == []


def test_the_check_itself_can_fail() -> None:
    assert loaded_after("import difflib", *PATCHES) == ["difflib"]


@pytest.fixture
def with_ssh(tmp_path: Path) -> str:
    """A PATH on which there is an ssh, whatever this machine has."""
    program = tmp_path / "ssh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return str(tmp_path)


def test_ssh_comes_without_what_only_match_exec_needs(with_ssh: str) -> None:
    code = "import kschedpatch.node.paramiko_ssh, kschedpatch.node.route"
    heavy = ("paramiko", "invoke", "unittest.mock", "asyncio", "importlib.metadata", "email")
    assert loaded_after(code, *heavy, path=with_ssh) == ["paramiko"]


@pytest.mark.parametrize(
    ("name", "part"), [("invoke", "run"), ("importlib.metadata", "distribution")]
)
def test_what_was_left_out_can_be_loaded_afterwards(name: str, part: str, with_ssh: str) -> None:
    code = f"import kschedpatch.node.sshlibrary, {name}; {name}.{part}"
    assert loaded_after(code, name, path=with_ssh) == [name]


def test_the_library_knows_its_version() -> None:
    assert paramiko.__version__ == metadata.version("paramiko")


@pytest.mark.parametrize("when", ["while it is loaded", "later"])
def test_a_library_that_asks_in_another_way_gets_its_answers(when: str, tmp_path: Path) -> None:
    asks = (
        "def found(): return importlib.metadata.distribution('paramiko').version\n"
        "def version(): return importlib.metadata.version('paramiko')\n"
    )
    at_once = "assert found() == version()\n" if when != "later" else ""
    (tmp_path / "paramiko.py").write_text(f"import importlib.metadata\n{asks}{at_once}")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from kschedpatch.node.sshlibrary import paramiko\n"
        "assert paramiko.version() == paramiko.found()\n"
        "import importlib.metadata; importlib.metadata.distribution"
    )
    assert loaded_after(code, "importlib.metadata") == ["importlib.metadata"]


def test_who_asks_for_more_than_a_version_gets_the_real_one() -> None:
    asked = sshlibrary._Versions("importlib.metadata")
    assert asked.version("ruamel.yaml") == metadata.version("ruamel.yaml")  # found by no directory
    assert asked.distribution is metadata.distribution


def test_what_was_loaded_before_stays(with_ssh: str) -> None:
    code = "import invoke, kschedpatch.node.sshlibrary, paramiko.config; paramiko.config.invoke.run"
    assert loaded_after(code, "invoke", path=with_ssh) == ["invoke"]


@pytest.mark.skipif(BASH is None, reason="invoke runs commands by bash")
@pytest.mark.parametrize(("command", "port"), [("true", 7), ("false", 22)])
def test_without_an_ssh_match_exec_is_still_run(command: str, port: int, tmp_path: Path) -> None:
    (tmp_path / "bash").symlink_to(str(BASH))
    config = tmp_path / "config"
    config.write_text(f"Match host cp1 exec {command}\n  Port 7\n")
    script = (
        "import sys; from pathlib import Path\n"
        "from kschedpatch.model.nodeaddress import NodeAddress\n"
        "from kschedpatch.node.sshconfig import resolve\n"
        "print(resolve(NodeAddress('cp1'), Path(sys.argv[1])).port)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(config)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": str(tmp_path)},
    )
    assert int(ran.stdout) == port


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_ssh_is_taken_from_one_place(path: Path) -> None:
    if path != SSH_LIBRARY:
        assert not [name for name in imported(path) if name.split(".")[0] == "paramiko"]


def test_nothing_is_searched_for_garbage_at_the_end() -> None:
    script = (
        "import atexit, gc, sys; sys.argv = ['kschedpatch', '--version']\n"
        "atexit.register(lambda: print(len(gc.get_objects()) < gc.get_freeze_count()))\n"
        "from kschedpatch.cli.entry import main\n"
        "main()"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "True"
