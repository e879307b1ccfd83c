"""Plan files: exact, strict, and refused when anything differs since."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from kschedpatch.core.fleet.differences import differences, renewed
from kschedpatch.core.fleet.planfile import decode, encode
from kschedpatch.inputs.archives import read_archive
from kschedpatch.inputs.files import hash_file
from kschedpatch.inputs.planfiles import read_plan, with_absolute_paths
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.plan import StagedFile
from kschedpatch.model.sources import SourceFile
from tests.artefacts import docker_archive
from tests.unit.fleet.nodes import Node, node, three
from tests.unit.fleet.test_planning import planned

RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
SPEC: dict[str, Any] = {
    "config": {"inline": {"parallelism": 8}},
    "files": [{"source": "data", "mountPath": "/data"}],
    "mounts": [{"name": "x", "hostPath": "/x", "type": "Directory"}],
    "rbac": {"rules": [RULE]},
}


def cluster() -> list[Node]:
    return [item.but(path_types={"/x": "Directory"}, has_systemd=False) for item in three()]


PLAN = planned(SPEC, *cluster(), data="ü\x00")


def decoded(text: str) -> FleetPlan:
    reading = decode(text.encode(), "plan.json")
    assert reading.plan is not None, reading.findings
    return reading.plan


def test_the_plan_has_something_of_everything() -> None:
    assert PLAN.ok
    assert PLAN.rbac
    assert PLAN.findings
    assert len(PLAN.nodes) == 3


def test_a_plan_comes_back_as_it_was() -> None:
    assert decoded(encode(PLAN)) == PLAN


@examples(text=st.text(), name=st.text(), number=st.integers(0, 2**40))
def test_whatever_is_in_it(text: str, name: str, number: int) -> None:
    first = PLAN.nodes[0]._replace(before=text, label=name, kubelet=KubeVersion(number, None))
    plan = PLAN._replace(nodes=(first,), patch_text=name)
    assert decoded(encode(plan)) == plan


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[]", "no plan"),
        (b"[" * 100_000, "no JSON"),
        (encode(PLAN).replace('"format": 4', '"format": 2').encode(), "format is 2"),
        (encode(PLAN).replace('"leads": false', '"leads": 0', 1).encode(), "leads"),
        (encode(PLAN).replace('"leads": false', '"led": false', 1).encode(), "led"),
        (encode(PLAN).replace('"id": "', '"id": "0', 1).encode(), "generation"),
    ],
)
def test_what_is_no_plan_is_refused(data: bytes, words: str) -> None:
    reading = decode(data, "plan.json")
    assert reading.plan is None
    assert [finding.code for finding in reading.findings] == ["N301"]
    assert words in reading.findings[0].message


def test_bytes_that_somebody_edited_are_noticed() -> None:
    body = json.loads(encode(PLAN))
    file = body["plan"]["nodes"][0]["generation"]["files"][0]["file"]
    file["content"]["base64"] = "AAAA"
    assert decode(json.dumps(body).encode(), "p").plan is None


def test_nothing_differs_on_the_same_nodes() -> None:
    assert differences(PLAN, tuple(item.facts for item in cluster())) == ()


MANIFEST = cluster()[0].facts.manifest
assert MANIFEST is not None


@examples(at=st.integers(0, len(MANIFEST.content) - 1), flip=st.integers(1, 255))
def test_any_changed_byte_of_a_manifest_is_a_difference(at: int, flip: int) -> None:
    assert MANIFEST is not None
    content = bytearray(MANIFEST.content)
    content[at] ^= flip
    digest = hashlib.sha256(content).hexdigest()
    nodes = [item.facts for item in cluster()]
    nodes[0] = nodes[0]._replace(manifest=MANIFEST._replace(content=bytes(content), sha256=digest))
    (finding,) = differences(PLAN, tuple(nodes))
    assert (finding.code, finding.message) == ("N302", "the manifest has changed")


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"machine_id": "other"}, "it is another machine"),
        ({"kubelet": KubeVersion(35, 0)}, "the kubelet was 1.34.11, and is 1.35.0"),
        ({"path_types": {"/x": "File"}}, "it was Directory, and is File"),
        ({"manifest": None, "manifest_problem": "missing"}, "the manifest is gone"),
    ],
)
def test_what_else_can_differ(fields: dict[str, Any], words: str) -> None:
    first, *others = cluster()
    (finding,) = differences(PLAN, tuple(item.facts for item in (first.but(**fields), *others)))
    assert finding.code == "N302"
    assert finding.message.startswith(words)


def test_other_nodes_than_the_plans() -> None:
    nodes = tuple(item.facts for item in (*cluster()[:2], node("cp9")))
    assert [finding.message for finding in differences(PLAN, nodes)] == [
        "the plan is also for cp3",
        "the plan is not for cp9",
    ]


def test_a_new_leader_is_no_difference_but_another_order() -> None:
    nodes = tuple(item.following("cp1").facts for item in cluster())
    now = renewed(PLAN, nodes, partial=False)
    assert now.ok
    assert [item.label for item in now.nodes] == ["cp2", "cp3", "cp1"]
    assert [item.leads for item in now.nodes] == [False, False, True]


def test_what_has_happened_on_a_node_since_is_told() -> None:
    first, *others = cluster()
    nodes = tuple(item.facts for item in (first.open_run(), *others))
    assert "N008" in [finding.code for finding in renewed(PLAN, nodes, partial=False).findings]


def test_an_archive_is_named_by_its_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = docker_archive(tmp_path / "own.tar")
    data = archive.read_bytes()
    monkeypatch.chdir(tmp_path)
    reading = read_archive(archive, hash_file("own.tar", Path("own.tar")), None)
    assert reading.archive is not None
    nodes = tuple(item._replace(archive=reading.archive) for item in PLAN.nodes)
    file = tmp_path / "plan.json"
    file.write_text(encode(with_absolute_paths(PLAN._replace(nodes=nodes))))
    monkeypatch.chdir("/")
    kept = read_plan(file).plan
    assert kept is not None
    assert kept.nodes[0].archive is not None
    assert kept.nodes[0].archive.ids == reading.archive.ids
    archive.write_bytes(data + b"\0")
    (changed,) = read_plan(file).findings
    assert (changed.code, changed.file) == ("N303", str(archive))
    assert changed.message == "it is not the file that was planned with"
    archive.unlink()
    (gone,) = read_plan(file).findings
    assert gone.message == "there is no such file"


def test_large_files_are_checked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = tmp_path / "kube-scheduler"
    binary.write_bytes(b"\x7fELF")
    digest = hashlib.sha256(b"\x7fELF").hexdigest()
    monkeypatch.chdir(tmp_path)
    source = SourceFile("kube-scheduler", "kube-scheduler", digest, 4)
    from kschedpatch.core.generation import make_generation

    generation = make_generation([StagedFile("kube-scheduler", 0o755, source)])
    plan = with_absolute_paths(
        PLAN._replace(nodes=(PLAN.nodes[0]._replace(generation=generation),))
    )
    file = tmp_path / "plan.json"
    file.write_text(encode(plan))
    monkeypatch.chdir("/")
    assert read_plan(file).plan == plan
    binary.write_bytes(b"\x7fELG")
    assert [finding.code for finding in read_plan(file).findings] == ["N303"]
    binary.unlink()
    assert read_plan(file).findings[0].message == "there is no such file"
