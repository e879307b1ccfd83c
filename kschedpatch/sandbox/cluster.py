"""What the nodes of a sandbox share, as a node sees it."""

from __future__ import annotations

from typing import Protocol

from kschedpatch.sandbox.podlife import PodRun
from kschedpatch.sandbox.process import World
from kschedpatch.sandbox.requests import Reply


class Cluster(World, Protocol):
    @property
    def registry(self) -> set[str]: ...
    def kubectl(self, arguments: tuple[str, ...], stdin: bytes) -> Reply: ...
    def mirror(self, node: str, run: PodRun | None) -> None: ...
    def warn(self, namespace: str, pod: str, uid: str, reason: str, message: str) -> None: ...
