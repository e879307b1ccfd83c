"""Tells what the sampler saw around a moment, so that one can say what happened. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tests.e2e.cluster.record import Process, Record, Sample
from tests.e2e.cluster.workload import Placement

_AROUND = 2.0


def story(
    record: Record, began: float, waits: Sequence[Placement] = (), zero: float = 0.0
) -> list[str]:
    """Around the longest outage and the pod that waited longest; times count from the change.

    `began` is the change's start on the record's clock, `zero` the record's
    start on the pods' clock.
    """
    lines: list[str] = []
    gaps = record.outages()
    if gaps:
        start, end = max(gaps, key=lambda gap: gap[1] - gap[0])
        lines.append(
            f"without a ready lease holder from {start - began:.2f} to {end - began:.2f} s"
        )
        lines += changes(record, start - _AROUND, end + _AROUND, began)
    bound = [(pod.waited, pod) for pod in waits if pod.waited is not None]
    if bound:
        waited, pod = max(bound, key=lambda pair: pair[0])
        created = pod.created - zero
        lines.append(f"{pod.pod}, created at {created - began:.2f} s, waited {waited:.2f} s")
        # Most often it is the same moment.
        if not gaps or not start - _AROUND <= created <= end + _AROUND:
            lines += changes(record, created - _AROUND, created + waited + _AROUND, began)
    return lines


def changes(record: Record, start: float, end: float, began: float) -> list[str]:
    """One line for each sample in this time that differs from the one before it."""
    lines: list[str] = []
    before = ""
    for sample in record.samples:
        if not start <= sample.at <= end:
            continue
        now = _state(record, sample)
        if now != before:
            lines.append(f"  {sample.at - began:8.2f}  {now}")
        before = now
    return lines


def _state(record: Record, sample: Sample) -> str:
    ready = " ".join(_called(process) for process in sorted(sample.ready)) or "nobody"
    mark = "works" if record.working(sample) else "     "
    return f"{mark}  {_holder(record, sample)}; ready: {ready}"


def _holder(record: Record, sample: Sample) -> str:
    if sample.holder is None:
        return "no answer of the API"
    if not sample.holder:
        return "lease released"
    owners = " ".join(_called(process) for process in sorted(record.owners_of(sample.holder)))
    stale = "" if sample.renewed else ", not renewed"
    node, _, name = sample.holder.rpartition("_")
    return f"lease: {node}_{name[:8]} = {owners or 'whose?'}{stale}"


def _called(process: Process) -> str:
    """With its epoch: after a # that went up, another process answers at the same port."""
    return f"{process.place}#{process.epoch}"
