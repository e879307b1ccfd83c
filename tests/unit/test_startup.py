"""What is loaded before it is needed: each library here costs as much time as a node's answer."""

from __future__ import annotations

import subprocess
import sys

import pytest

PATCHES = ("pydantic", "ruamel.yaml", "difflib", "jsonschema")


def loaded_after(code: str, *watched: str) -> list[str]:
    """Which of these modules a fresh Python has loaded then."""
    script = f"{code}\nimport sys\nprint(*(m for m in {watched!r} if m in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(
    "module", ["kschedpatch.rollout.run", "kschedpatch.rollout.fleet", "tests.bench.ourjob"]
)
def test_a_roll_out_loads_nothing_that_reads_patches(module: str) -> None:
    assert loaded_after(f"import {module}", *PATCHES, "decimal", "paramiko") == []


def test_the_check_itself_can_fail() -> None:
    assert loaded_after("import difflib", *PATCHES) == ["difflib"]
