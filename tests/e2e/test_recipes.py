"""Every recipe, rendered against a node's own manifest, through its real kubelet and scheduler.

The pod runs under another name and writes its completed configuration instead of serving, so the
live scheduler beside it notices nothing. A recipe for a plugin of one's own gets the stock
scheduler under its image's name: all that may be wrong then is that the plugin is not in it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from tests.recipenames import OF_STATIC_PODS, OWN_PLUGIN

from .cluster import registry
from .cluster.build import build
from .cluster.cluster import Cluster
from .cluster.console import run
from .cluster.images import command_image
from .cluster.node import SCHEDULER_MANIFEST, Node
from .cluster.trials import Ended, Trial, Verdict, dropped_field, run_to_the_end, under_name

NAMES = OF_STATIC_PODS
_IMAGE = re.compile(r"^    image: (\S+)$", re.MULTILINE)


class Rendered(NamedTuple):
    manifest: str
    directory: str
    files: dict[str, str]

    @property
    def config(self) -> Any:
        return value_of(read(self.files["scheduler-config.yaml"].encode()).documents[0])


class Outcome(NamedTuple):
    rendered: Rendered
    tried: bytes
    verdict: Verdict
    ended: Ended


def render(name: str, manifest: Path) -> Rendered:
    command = [sys.executable, "-m", "kschedpatch", "render", "--recipe", name]
    result = run([*command, "--manifest", str(manifest), "-o", "json"])
    document = json.loads(result.stdout)
    generation = document["generation"]
    files = {file["name"]: file["content"] for file in generation["files"]}
    return Rendered(document["manifest"], generation["directory"], files)


def harmless(manifest: str, name: str, port: int) -> bytes:
    """The same pod under another name, which writes its configuration and ends.

    It opens no port and asks for one of its own: the live scheduler has its port in the host's
    network, and the kubelet admits no second pod that names it.
    """
    flags = "    - --write-config-to=/dev/stdout\n    - --secure-port=0\n"
    changed, count = _IMAGE.subn(lambda match: flags + match[0], manifest)
    assert count == 1, manifest
    changed = changed.replace("containerPort: 10259", f"containerPort: {port}")
    return under_name(changed.encode(), name)


@pytest.fixture(scope="module")
def outcomes(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Outcome]]:
    node = cluster.nodes[-1]
    original = tmp_path_factory.mktemp("recipes") / "kube-scheduler.yaml"
    original.write_bytes(node.read(SCHEDULER_MANIFEST))
    rendered = {name: render(name, original) for name in NAMES}
    # Not the same content as the live one's: from 1.35 on the kubelet asks again for an image that
    # it has pulled by one name and is to run by another.
    binary = build(cluster.version)["kube-scheduler"]
    stock = replace(command_image(binary), links={"usr/local/bin/own": binary.name})
    for name in OWN_PLUGIN:
        [image] = _IMAGE.findall(rendered[name].manifest)
        registry.push(image, stock)
    try:
        for recipe in rendered.values():
            stage(node, recipe)
        trials = [
            Trial(f"trial-{name}", harmless(recipe.manifest, f"trial-{name}", 20259 + number))
            for number, (name, recipe) in enumerate(rendered.items())
        ]
        ended = run_to_the_end(node, cluster.api, trials)
        yield {
            name: Outcome(rendered[name], trial.manifest, *end)
            for name, trial, end in zip(rendered, trials, ended, strict=True)
        }
    finally:
        for recipe in rendered.values():
            node.run(f"rm -rf {recipe.directory}")


def stage(node: Node, recipe: Rendered) -> None:
    node.run(f"mkdir -p {recipe.directory}")
    for name, content in recipe.files.items():
        node.run(f"cat > {recipe.directory}/{name}", stdin=content.encode())


@pytest.mark.parametrize("name", NAMES)
def test_the_kubelet_takes_every_field_of_the_manifest(
    outcomes: dict[str, Outcome], name: str
) -> None:
    outcome = outcomes[name]
    assert outcome.verdict.accepted, outcome.verdict.journal
    assert not dropped_field(outcome.tried, outcome.verdict)


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(OWN_PLUGIN)))
def test_the_scheduler_takes_the_configuration(outcomes: dict[str, Outcome], name: str) -> None:
    ended = outcomes[name].ended
    assert ended.code == 0, ended.stderr
    written = value_of(read(ended.stdout.encode()).documents[0])
    assert lost(outcomes[name].rendered.config, written) == []


@pytest.mark.parametrize("name", OWN_PLUGIN)
def test_only_the_plugin_of_ones_own_is_missing(outcomes: dict[str, Outcome], name: str) -> None:
    ended = outcomes[name].ended
    assert ended.code == 1
    # 1.36 says besides that an empty manifest is ignored, at the same level.
    errors = [line for line in ended.stderr.splitlines() if '"command failed"' in line]
    assert len(errors) == 1, ended.stderr
    assert re.findall(r"(\w+)\W{1,3}does not exist", errors[0]) == [OWN_PLUGIN[name]]


def lost(wanted: Any, got: Any, path: str = "") -> list[str]:
    """Where the scheduler's own view lacks what was asked for; what it adds are its defaults."""
    if isinstance(wanted, dict):
        if not isinstance(got, dict):
            return [path]
        return [
            place
            for key, value in wanted.items()
            for place in lost(value, got.get(key), f"{path}.{key}")
        ]
    if isinstance(wanted, list):
        have = got if isinstance(got, list) else []
        return [
            place
            for at, value in enumerate(wanted)
            for place in lost(value, _counterpart(value, at, have), f"{path}[{at}]")
        ]
    # What is false or empty is left out of the file that the scheduler writes.
    return [] if wanted == got or (not wanted and not got) else [path]


def _counterpart(wanted: Any, at: int, have: list[Any]) -> Any:
    """Profiles and plugins are found by their names, the rest by its place."""
    for key in ("schedulerName", "name"):
        if isinstance(wanted, dict) and key in wanted:
            return next((item for item in have if item.get(key) == wanted[key]), None)
    return have[at] if at < len(have) else None
