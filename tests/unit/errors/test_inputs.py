"""Files and results that are not as they should be: each is told in words."""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from kschedpatch.cli import options, render
from kschedpatch.core.fleet.planfile import decode, encode
from kschedpatch.core.kubeadm.keeping import UnreadableRecord, from_object
from kschedpatch.inputs import archives, deploymentplans, files
from kschedpatch.inputs.inventory import BadInventory, read_inventory
from kschedpatch.inputs.programs import NoProgram, read_program
from kschedpatch.model.sources import SourceFile
from tests.artefacts import program, write_tar
from tests.unit.command_line import run
from tests.unit.fleet.nodes import three
from tests.unit.fleet.test_planning import planned

KUBEADM = str(Path(__file__).parents[3] / "fixtures/manifests/kubeadm/v1.34.yaml")
NODES = [node.but(has_systemd=False) for node in three()]
PLAN: dict[str, Any] = json.loads(
    encode(planned({"config": {"inline": {"parallelism": 8}}}, *NODES))
)
FINDING = {**PLAN["plan"]["findings"][0], "severity": "bad"}
Edit = Callable[[dict[str, Any]], object]


def first(plan: dict[str, Any]) -> dict[str, Any]:
    node: dict[str, Any] = plan["plan"]["nodes"][0]
    return node


def content(plan: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = first(plan)["generation"]["files"][0]["file"]
    return found


@pytest.mark.parametrize(
    "edit, words",
    [
        (lambda p: content(p).update(content={"base64": "?"}), "content is no base64"),
        (lambda p: content(p).update(sha256="0" * 64), "has not the hash that the plan says"),
        (lambda p: first(p)["preflight"]["mounts"].append(["/a"]), "] has 1 items"),
        (lambda p: p["plan"]["findings"].append(FINDING), "severity has an unknown value"),
    ],
)
def test_a_plan_that_somebody_has_edited(edit: Edit, words: str) -> None:
    plan = json.loads(json.dumps(PLAN))
    edit(plan)
    reading = decode(json.dumps(plan).encode(), "plan.json")
    assert reading.plan is None
    assert words in reading.findings[0].message
    assert reading.findings[0].hint == "plan again"


NO_PATCH = (
    '{"apiVersion": "kschedpatch.io/v1", "format": 1, "files": {}, "takeOver": [], "changes": ""'
)


@pytest.mark.parametrize(
    "text, words",
    [
        ("[", "it is damaged"),
        ('{"apiVersion": "kschedpatch.io/v1", "format": 9}', "its format is 9, this version"),
        (f'{NO_PATCH}, "patch": {{"kind": "Pod"}}}}', "its patch: "),
    ],
)
def test_a_deployment_s_plan_that_is_none(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(text)
    (finding,) = deploymentplans.read_deployment_plan(tmp_path / "plan.json").findings
    assert finding.message.startswith(words)
    assert finding.hint == "plan again"


def test_a_record_in_the_cluster_with_other_types() -> None:
    record = {"format": "1", "scheduler": [], "replaced": {}, "run": "r", "patch": "p"}
    with pytest.raises(UnreadableRecord, match="it is damaged"):
        from_object({"data": {"record": json.dumps(record)}})


def test_files_that_are_too_large_or_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"123")
    with pytest.raises(files.Unreadable, match="it is larger than 2 bytes"):
        files.read_bytes(file, 2)
    with pytest.raises(files.Unreadable, match="it is larger than 0 MiB"):
        files.hash_file("file", file, 2)
    file.write_bytes(b"")
    with pytest.raises(files.Unreadable, match="it is empty"):
        files.hash_file("file", file)
    monkeypatch.setattr(files, "MAX_TEXT", 2)
    ran = run("lint", "-f", "-", stdin=b"123")
    assert (ran.code, "it is larger than 2 bytes" in ran.out) == (2, True)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(files.Unreadable, match="standard input is closed"):
        files.read_named("-")
    with pytest.raises(files.Unreadable, match="the name is empty"):
        files.read_named("")


def archive_with(path: Path, *, kind: bytes, size: int) -> None:
    header = tarfile.TarInfo("manifest.json")
    header.size, header.type = size, kind
    path.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 15))


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda p: p.write_bytes(b"\x28\xb5\x2f\xfd1234"), "it is packed with zstd"),
        (
            lambda p: archive_with(p, kind=tarfile.GNUTYPE_LONGNAME, size=3 << 20),
            "a header in it is too large",
        ),
        (lambda p: archive_with(p, kind=tarfile.REGTYPE, size=1 << 36), "it holds more than"),
        (lambda p: write_tar(p, dict.fromkeys("abcd", b"")), "it has more than 2 members"),
    ],
)
def test_an_archive_that_is_none(
    make: Callable[[Path], object], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_MAX_MEMBERS", 2)
    path = tmp_path / "image.tar"
    make(path)
    reading = archives.read_archive(path, SourceFile("image.tar", str(path), "0" * 64, 1), None)
    assert reading.archive is None
    assert words in reading.problem


def loader_at(offset: int, length: int) -> bytes:
    """A program whose loader's name should be there."""
    data = bytearray(program(loader="/lib/ld.so"))
    at = 64 + 56
    data[at + 8 : at + 16] = offset.to_bytes(8, "little")
    data[at + 32 : at + 40] = length.to_bytes(8, "little")
    return bytes(data)


@pytest.mark.parametrize(
    "data, words",
    [
        (program()[:54], "its ELF header is cut off"),
        (loader_at(0, 1 << 20), "the name of its loader is too long"),
        (loader_at((1 << 64) - 1, 9), "the name of its loader lies beyond its end"),
    ],
)
def test_a_program_that_is_none(data: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "kube-scheduler").write_bytes(data)
    with pytest.raises(NoProgram, match=words):
        read_program(tmp_path / "kube-scheduler")


CIRCLE = "[a:children]\nb\n[b:children]\na\n[kube_control_plane]\ncp1\n"


@pytest.mark.parametrize(
    "text, words",
    [
        (b"\xff\xfe", "it is not UTF-8 text"),
        (b"[kube_control_plane]\ncp[1:b]\n", ":2: [1:b] is no range of hosts"),
        (b"[kube_control_plane:vars]\nuser\n", ":2: 'user' is no setting: write name=value"),
        (CIRCLE.encode(), "is nested too deep, or in a circle"),
    ],
)
def test_an_inventory_that_is_none(text: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.ini").write_bytes(text)
    with pytest.raises(BadInventory) as raised:
        read_inventory(str(tmp_path / "hosts.ini"))
    assert words in str(raised.value)


# What is written.


def test_a_plan_goes_to_no_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as end:
        options.write_plan(tmp_path, "{}")
    assert end.value.exit_code == 2
    said = capsys.readouterr().err
    assert said == f"Error: {tmp_path} is a directory. Nothing was changed.\n"


def test_a_recipe_goes_to_no_file(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    ran = run("init", "gpumps", "--out", str(tmp_path / "notes/more"))
    assert ran.code == 2
    assert "notes is a file, a directory is needed. Nothing was written." in ran.err


def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary, out = tmp_path / "kube-scheduler", tmp_path / "out"
    binary.write_bytes(program())
    write = render._written

    def late(plan: Any, directory: Path) -> str:
        binary.write_bytes(program(machine=183))
        return write(plan, directory)

    monkeypatch.setattr(render, "_written", late)
    ran = run("render", "--binary", str(binary), "--manifest", KUBEADM, "--out", str(out))
    assert ran.code == 2
    assert f"{binary} changed while it was read. What is in {out} is not complete." in ran.err
    assert not (out / "kube-scheduler.yaml").exists(), "it comes last"
