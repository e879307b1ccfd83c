"""What is read out of image archives before they are sent anywhere."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.imagenames import digest_of, full_name
from kschedpatch.inputs.archives import ArchiveReading, read_archive
from kschedpatch.model.images import ImageArchive
from kschedpatch.model.sources import source_file
from tests.artefacts import NAME, config, docker_members, oci_members, sha256, write_tar


def read(path: Path, wanted: str | None = None) -> ArchiveReading:
    return read_archive(path, source_file("own.tar", str(path), path.read_bytes()), wanted)


def held(path: Path, wanted: str | None = None) -> ImageArchive:
    archive, problem = read(path, wanted)
    assert archive is not None, problem
    return archive


def test_docker_save(tmp_path: Path) -> None:
    layer = b"x" * 70_000
    archive = held(write_tar(tmp_path / "own.tar", docker_members(layer=layer)))
    (variant,) = archive.variants
    assert archive.image == NAME
    assert (variant.architecture, variant.image_id) == ("amd64", f"sha256:{sha256(config())}")
    assert (variant.stored, variant.unpacked) == (70_000, 70_000)


def test_a_layout_for_two_processors(tmp_path: Path) -> None:
    both = (config("amd64"), config("arm64"))
    archive = held(write_tar(tmp_path / "own.tar", oci_members(images=both)))
    assert {v.architecture: v.image_id for v in archive.variants} == {
        "amd64": f"sha256:{sha256(both[0])}",
        "arm64": f"sha256:{sha256(both[1])}",
    }
    # Its own manifest, and the index above it.
    assert all(len(v.digests) == 2 for v in archive.variants)


def test_what_belongs_to_no_linux_is_passed_over(tmp_path: Path) -> None:
    members = oci_members(images=(config("unknown", "unknown"), config("amd64")))
    (variant,) = held(write_tar(tmp_path / "own.tar", members)).variants
    assert variant.architecture == "amd64"


def test_a_packed_archive_and_packed_layers(tmp_path: Path) -> None:
    members = docker_members(layer=gzip.compress(b"\0" * 5_000_000))
    path = write_tar(tmp_path / "own.tgz", members, "w:gz")
    archive = held(path)
    assert archive.compression == "gzip"
    assert archive.variants[0].unpacked == 5_000_000
    assert archive.variants[0].stored < 50_000


@pytest.mark.parametrize(
    "saved, wanted, known",
    [
        ("own:v1", None, "docker.io/library/own:v1"),
        ("team/own:v1", None, "docker.io/team/own:v1"),
        ("own:v1", "docker.io/library/own:v1", "docker.io/library/own:v1"),
        ("docker.io/library/own:v1", "own:v1", "own:v1"),
    ],
)
def test_short_names_are_the_runtimes_long_ones(
    tmp_path: Path, saved: str, wanted: str | None, known: str
) -> None:
    assert held(write_tar(tmp_path / "own.tar", docker_members(saved)), wanted).image == known


def _damaged() -> dict[str, bytes]:
    members = oci_members()
    name = f"blobs/sha256/{sha256(config())}"
    return {**members, name: config(note="exchanged")}


def _bare_tag() -> dict[str, bytes]:
    members = oci_members()
    index = json.loads(members["index.json"])
    index["manifests"][0]["annotations"] = {"org.opencontainers.image.ref.name": "v1"}
    return {**members, "index.json": json.dumps(index).encode()}


def _two() -> dict[str, bytes]:
    members = docker_members()
    (item,) = json.loads(members["manifest.json"])
    item["RepoTags"].append("registry.internal/other:v2")
    return {**members, "manifest.json": json.dumps([item]).encode()}


WRONG: dict[str, tuple[dict[str, bytes], str | None, str]] = {
    "no name": (docker_members(None), None, "names no image"),
    "no name, but wanted": (docker_members(None), NAME, "names no image"),
    "only a tag": (_bare_tag(), None, "names no image"),
    "another name": (docker_members(), "a/b:v1", f"holds {NAME}, not a/b:v1"),
    "two names": (_two(), None, "say which with image"),
    "only the name": (
        {"manifest.json": docker_members()["manifest.json"]},
        None,
        "holds no Linux image",
    ),
    "for Windows": (docker_members(image=config(system="windows")), None, "no Linux image"),
    "exchanged configuration": (_damaged(), None, "damaged"),
}


@pytest.mark.parametrize("members, wanted, words", WRONG.values(), ids=WRONG)
def test_what_could_not_be_run_is_said(
    tmp_path: Path, members: dict[str, bytes], wanted: str | None, words: str
) -> None:
    archive, problem = read(write_tar(tmp_path / "own.tar", members), wanted)
    assert archive is None
    assert words in problem


@pytest.mark.parametrize(
    "value", [[1], {"manifests": [{"digest": 5}]}, {"config": {"digest": "sha256:../../etc"}}]
)
def test_blobs_of_strangers(tmp_path: Path, value: Any) -> None:
    data = json.dumps(value).encode()
    top = {
        "digest": f"sha256:{sha256(data)}",
        "annotations": {"io.containerd.image.name": NAME},
    }
    members = {
        "index.json": json.dumps({"manifests": [top]}).encode(),
        f"blobs/sha256/{sha256(data)}": data,
    }
    assert read(write_tar(tmp_path / "own.tar", members)).archive is None


def test_an_index_that_leads_to_itself_ends(tmp_path: Path) -> None:
    """Nothing can hold its own hash, so a chain stands in for the loop."""
    members: dict[str, bytes] = {}
    data = b'{"manifests": []}'
    for _ in range(40):
        members[f"blobs/sha256/{sha256(data)}"] = data
        below = [{"digest": f"sha256:{sha256(data)}"}] * 40
        data = json.dumps({"manifests": below}).encode()
    members[f"blobs/sha256/{sha256(data)}"] = data
    top = {
        "digest": f"sha256:{sha256(data)}",
        "annotations": {"io.containerd.image.name": NAME},
    }
    members["index.json"] = json.dumps({"manifests": [top]}).encode()
    assert read(write_tar(tmp_path / "own.tar", members)).archive is None


@pytest.mark.parametrize(
    "name, full",
    [
        ("own", "docker.io/library/own:latest"),
        ("own:v1", "docker.io/library/own:v1"),
        ("team/own", "docker.io/team/own:latest"),
        ("docker.io/own:v1", "docker.io/library/own:v1"),
        ("localhost/own:v1", "localhost/own:v1"),
        ("host:5000/own", "host:5000/own:latest"),
        ("registry.k8s.io/kube-scheduler:v1.34.2", "registry.k8s.io/kube-scheduler:v1.34.2"),
        (f"own@sha256:{'a' * 64}", f"docker.io/library/own@sha256:{'a' * 64}"),
    ],
)
def test_names_as_a_runtime_reads_them(name: str, full: str) -> None:
    assert full_name(name) == full


def test_the_digest_in_a_name() -> None:
    assert digest_of(f"a/b:v1@sha256:{'a' * 64}") == f"sha256:{'a' * 64}"
    assert digest_of("a/b:v1") == ""
