"""The demo schedulers fit the clusters and the recipes that they are for."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.inputs.recipes import recipe_named
from tests.e2e.cluster import build, demo
from tests.e2e.cluster.console import RigError
from tests.e2e.cluster.images import Image, digest
from tests.e2e.cluster.versions import kubernetes_version

DEMO = build.SCHEDULERS / demo.DEMO
PLUGINS = ("GPUMPSPlugin", "NameScore", "SchedulerTimestamp", "StickyJob")


def documents(text: bytes) -> list[Any]:
    return [value_of(document) for document in read(text).documents]


def replaced(module: Path) -> list[str]:
    return [line for line in (module / "go.mod").read_text().splitlines() if " => " in line]


@pytest.mark.parametrize("name", ["demo", "breaks-on-first-pod"])
def test_it_is_of_the_release_of_the_default_cluster(name: str) -> None:
    """Else little of the cluster's own build could be used again."""
    version = kubernetes_version("1.34")
    assert replaced(build.SCHEDULERS / name) == replaced(version.modules)
    assert demo.demo_release() == version.release


def test_a_cluster_of_another_release_is_refused() -> None:
    with pytest.raises(RigError, match=r"the demo scheduler is a 1\.34\.\d+, the cluster a 1\.28"):
        demo.demo_binary(kubernetes_version("1.28"))


def test_it_registers_the_plugins_of_the_recipes() -> None:
    main = (DEMO / "main.go").read_text()
    registered = re.findall(r"app\.WithPlugin\((\w+),", main)
    source = "".join(path.read_text() for path in DEMO.glob("*.go"))
    names = [re.findall(rf'\b{name}\s+= "(\w+)"', source) for name in registered]
    assert sorted(name for [name] in names) == list(PLUGINS)


def test_what_is_read_by_tests_and_people_does_not_make_it_build_anew(tmp_path: Path) -> None:
    for name in ("go.mod", "main.go", "sub/part.go", "main_test.go", "README.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    before = build._content(tmp_path)
    (tmp_path / "main_test.go").write_text("other")
    (tmp_path / "README.md").write_text("other")
    assert build._content(tmp_path) == before
    (tmp_path / "sub" / "part.go").write_text("other")
    assert build._content(tmp_path) != before


def test_the_archive_has_one_image_of_the_name_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = tmp_path / "demo"
    binary.write_bytes(b"a scheduler")
    monkeypatch.setattr(demo, "build_scheduler", lambda *_: binary)
    reference = "registry.example.com/kube-scheduler-gpumps:v1.34.4"
    path = demo.demo_archive(kubernetes_version("1.34"), tmp_path / "demo.tar", reference)
    with tarfile.open(path) as archive:
        [entry] = json.loads(archive.extractfile("manifest.json").read())  # type: ignore[union-attr]
        assert entry["RepoTags"] == [reference]
        [name] = entry["Layers"]
        layer = archive.extractfile(name)
        assert layer is not None
        content = layer.read()
        assert name == f"{digest(content).removeprefix('sha256:')}.tar"
        (tmp_path / "layer.tar").write_bytes(content)
    with tarfile.open(tmp_path / "layer.tar") as files:
        scheduler = files.getmember("usr/local/bin/kube-scheduler")
        assert (scheduler.mode, scheduler.size) == (0o755, len(b"a scheduler"))


def test_an_extender_starts_without_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recipe's Deployment names none."""
    monkeypatch.setattr(demo, "build_companion", lambda _: tmp_path)
    assert demo.extender_image() == Image({"extender": tmp_path}, ("/extender",))


def test_the_extender_stands_where_the_recipe_asks_for_it() -> None:
    recipe = recipe_named("gpu-admission")
    [patch] = documents(recipe.path.read_bytes())
    [extender] = patch["spec"]["config"]["inline"]["extenders"]
    service = next(one for one in demo.extender_objects("image") if one["kind"] == "Service")
    address = "http://{name}.{namespace}:".format(**service["metadata"])
    [port] = service["spec"]["ports"]
    assert extender["urlPrefix"] == f"{address}{port['port']}/scheduler"
    served = (build.SCHEDULERS / "extender" / "server.go").read_text()
    verbs = re.findall(r"^ *(?:# )?\w+Verb: (\w+)$", recipe.path.read_text(), re.MULTILINE)
    assert len(verbs) == 4
    for verb in verbs:
        assert f'"POST /scheduler/{verb}"' in served


def test_the_extenders_objects_can_be_read_from_a_file() -> None:
    objects = demo.extender_objects("registry.example.com/x:1", permit="a,b", prefer="b")
    assert documents(demo.manifest(objects).encode()) == objects
    [deployment] = [one for one in objects if one["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert {one["name"]: one["value"] for one in container["env"]} == {
        "PERMIT": "a,b",
        "PREFER": "b",
    }


def test_the_stand_in_speaks_as_the_plugin_reads() -> None:
    said = json.loads(demo.status_table({"k8s-node02": (48, 12)}))
    assert said == {"nodes": {"k8s-node02": {"capacity": 48, "used": 12}}}
    for source in (DEMO / "gpustatus.go", build.SCHEDULERS / "deviceplugin" / "status.go"):
        assert re.findall(r'`json:"(\w+)"`', source.read_text()) == ["nodes", "capacity", "used"]


def test_the_page_on_building_is_of_the_same_release() -> None:
    page = (build.SCHEDULERS.parents[1] / "docs/how-to/build-a-scheduler.md").read_text("utf-8")
    assert f"release={demo.demo_release().removeprefix('1.')}\n" in page
    assert f"version.gitVersion=v{demo.demo_release()}" in page
    for name in ("namescore.go", "gpumps.go", "gpustatus.go", "timestamp.go", "stickyjob.go"):
        assert f"`{name}`" in page
        assert (DEMO / name).exists()
