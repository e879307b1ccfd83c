"""Probe pods: what was asked of the scheduler with them, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class ProbeAsked(NamedTuple):
    title: str
    """The pod's name in its manifest."""
    body: dict[str, Any] | None
    """None where the manifest is no pod; ``problem`` says why."""
    problem: str = ""
    expect_node: str = ""
    expect_annotations: tuple[str, ...] = ()
    """``KEY``, or ``KEY=VALUE``."""

    @property
    def scheduler(self) -> str:
        spec = (self.body or {}).get("spec") or {}
        return str(spec.get("schedulerName") or "default-scheduler")


class ClusterNode(NamedTuple):
    """A node as the API server shows it, as far as it decides who fits there."""

    name: str
    unschedulable: bool = False
    taints: tuple[Mapping[str, Any], ...] = ()
    labels: Mapping[str, str] = MappingProxyType({})
    allocatable: Mapping[str, str] = MappingProxyType({})


class ProbeLook(NamedTuple):
    asked: ProbeAsked
    problem: str = ""
    """Why it could not be made."""
    node: str = ""
    """Where it was bound to; empty: nowhere."""
    condition: str = ""
    """What its PodScheduled condition says where it was not bound."""
    bound_by: str = ""
    """The profile that its event names."""
    instance: str = ""
    """The scheduler's process that its event names: profile and host."""
    annotations: Mapping[str, str] = MappingProxyType({})
    seconds: float = 0.0


class ProbeReport(NamedTuple):
    looks: tuple[ProbeLook, ...] = ()
    nodes: tuple[ClusterNode, ...] | None = None
    """None where they could not be listed."""
    removed: int = 0
    """Pods that an earlier run had left behind."""
    left: str = ""
    """How to delete the pods of this run, where that failed."""
    problem: str = ""
    """Why nothing was probed at all."""
