"""What a binary says about itself, before it is sent to nodes that could not run it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kschedpatch.inputs.programs import NoProgram, read_program
from tests.artefacts import program
from tests.unit.command_line import run

LOADER = "/lib64/ld-linux-x86-64.so.2"
KUBEADM = str(Path(__file__).parents[2] / "fixtures/manifests/kubeadm/v1.34.yaml")


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "kube-scheduler"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "machine, architecture", [(62, "amd64"), (183, "arm64"), (243, "riscv64"), (9, "ELF machine 9")]
)
def test_a_static_program(tmp_path: Path, machine: int, architecture: str) -> None:
    assert read_program(written(tmp_path, program(machine=machine))) == (architecture, "")


def test_a_static_program_at_any_address(tmp_path: Path) -> None:
    assert read_program(written(tmp_path, program(kind=3))).loader == ""


def test_a_program_that_needs_a_loader(tmp_path: Path) -> None:
    assert read_program(written(tmp_path, program(loader=LOADER))).loader == LOADER


@pytest.mark.skipif(sys.platform != "linux", reason="looks at a program of this machine")
def test_a_real_program_of_this_machine() -> None:
    assert "ld-" in read_program(Path("/bin/cat")).loader


@pytest.mark.parametrize(
    "data, words",
    [
        (b"#!/bin/sh\n", "no Linux program"),
        (b"MZ" + b"\0" * 100, "no Linux program"),
        (b"\x7fELF", "broken"),
        (program()[:60], "cut off"),
        (program()[:80], "beyond its end"),
        (program(kind=1), "object file"),
        (program(abi=9), "another system"),
        (program()[:56] + b"\xff\xff" + program()[58:], "no program headers"),
    ],
)
def test_what_no_kernel_would_run(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(NoProgram, match=words):
        read_program(written(tmp_path, data))


def test_a_dynamic_program_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = written(tmp_path, program(loader=LOADER))
    ran = run("render", "--binary", str(path), "--manifest", KUBEADM)
    said = " ".join(ran.err.split())
    assert ran.code == 2
    assert "P020" in said
    assert LOADER in said
    assert "CGO_ENABLED=0" in said
