"""Which files a patch brings to a node, where they lie there, and where the container sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

from kschedpatch.core.manifest.edits import HostMount
from kschedpatch.core.volumenames import volume_name
from kschedpatch.model.patch import Config, File
from kschedpatch.model.plan import Generation, StagedFile
from kschedpatch.model.sources import SourceFile, Sources, source_file

CONFIG_NAME = "scheduler-config.yaml"
BINARY_NAME = "kube-scheduler"
DEFAULT_CONFIG_PATH = "/etc/kubernetes/kschedpatch/scheduler-config.yaml"
DEFAULT_BINARY_PATH = "/usr/local/bin/kube-scheduler"


class Staged(NamedTuple):
    """A file of the generation with the mount that brings it into the container."""

    file: StagedFile
    volume: str
    mount_path: str

    def mount(self, generation: Generation) -> HostMount:
        # Type File: if it is missing, the pod says so; FileOrCreate would make an empty one.
        where = f"{generation.directory}/{self.file.name}"
        return HostMount(self.volume, where, self.mount_path, "File")


def stage_config(config: Config, text: str) -> Staged:
    content = source_file("config", CONFIG_NAME, text.encode())
    volume = config.name or "kschedpatch-config"
    path = config.mount_path or DEFAULT_CONFIG_PATH
    return Staged(StagedFile(CONFIG_NAME, 0o644, content), volume, path)


def stage_binary(source: SourceFile, program: str) -> Staged:
    """The binary takes the image's place for it: kubeadm wants the command to stay as it is."""
    path = program if program.startswith("/") else DEFAULT_BINARY_PATH
    return Staged(StagedFile(BINARY_NAME, 0o755, source), "kschedpatch-binary", path)


def stage_files(files: Iterable[File], sources: Sources, volumes: set[str]) -> list[Staged]:
    """``volumes`` are the names that are taken already."""
    taken = {CONFIG_NAME, BINARY_NAME}
    volumes = set(volumes)
    staged = []
    for file in files:
        source = sources.get(file.source)
        if source is None:
            continue  # the missing file is a finding already
        name = _free_name(PurePosixPath(file.mount_path).name, taken)
        taken.add(name)
        volume = file.name or volume_name(name, volumes)
        item = StagedFile(name, int(file.mode, 8), source)
        staged.append(Staged(item, volume, file.mount_path))
    return staged


def _free_name(wanted: str, taken: set[str]) -> str:
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", wanted).lstrip(".")[:100] or "file"
    name, number = safe, 2
    while name in taken:
        name, number = f"{number}-{safe}", number + 1
    return name
