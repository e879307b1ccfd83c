"""The demo's stage with real nodes: the same files, and what gpumps needs there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kschedpatch.sandbox.operatorfiles import SSH_CONFIG

from .cluster import demo
from .cluster.cluster import Cluster
from .cluster.console import RigError
from .cluster.node import SCHEDULER_MANIFEST
from .cluster.workload import fake_nodes
from .recipe import Recipe

#: Capacity and use of nodes with GPUs, which exist in the API only.
_GPUS = {"gpu-1": (48, 40), "gpu-2": (48, 2), "gpu-3": (48, 30)}
_PLACEHOLDER = "registry.example.com/kube-scheduler-gpumps:v1.34.2"
#: The recipe's own plugin does not break: this one is switched on in its place.
_PLUGINS = """\
      - plugins:
          score:
            enabled:
            - name: GPUMPSPlugin
              weight: 1
          # Each extension point is switched on by itself: without this one, Reserve never runs.
          reserve:
            enabled:
            - name: GPUMPSPlugin
"""
_BREAKING_PLUGIN = """\
      - plugins:
          preFilter:
            enabled:
            - name: BreaksOnFirstPod
"""


class RealStage(NamedTuple):
    cluster: Cluster
    directory: Path

    @property
    def environment(self) -> dict[str, str]:
        return {}

    def manifests(self) -> tuple[bytes, ...]:
        return tuple(node.read(SCHEDULER_MANIFEST) for node in self.cluster.nodes)


@contextmanager
def real_stage(cluster: Cluster, directory: Path) -> Iterator[RealStage]:
    """In an empty directory. Device plugins and nodes with GPUs are there as long as the block."""
    if cluster.version.release != demo.demo_release():
        raise RigError(f"the demo's schedulers are of Kubernetes {demo.demo_release()}")
    _write_patches(cluster, directory)
    shutil.copy(cluster.access.ssh_config, directory / SSH_CONFIG)
    with fake_nodes(cluster.api, list(_GPUS)), demo.device_plugins(cluster.nodes, _GPUS):
        yield RealStage(cluster, directory)


def _write_patches(cluster: Cluster, directory: Path) -> None:
    recipe = Recipe.init(cluster, directory, "gpumps")
    recipe.probe_on_fake_nodes("gpumps/mps.yaml", expect="gpu-2")
    text = recipe.file.read_text()
    assert _PLUGINS in text
    image = f"registry.example.com/kube-scheduler-gpumps:v{cluster.version.release}-demo"
    demo.push_demo(cluster.version, image)
    demo.push_without_plugin(cluster.version, f"{image}-without-plugin")
    demo.push_breaking(cluster.version, f"{image}-{demo.BREAKS_ON_FIRST_POD}")
    for name, text_of, tag in (
        ("gpumps", text, image),
        ("without-plugin", text, f"{image}-without-plugin"),
        (
            demo.BREAKS_ON_FIRST_POD,
            text.replace(_PLUGINS, _BREAKING_PLUGIN),
            f"{image}-{demo.BREAKS_ON_FIRST_POD}",
        ),
    ):
        (directory / f"{name}.yaml").write_text(text_of.replace(_PLACEHOLDER, tag))
