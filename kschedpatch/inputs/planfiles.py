"""Reads plan files, within bounds; the large files that they name must still be the same."""

from __future__ import annotations

from pathlib import Path

from kschedpatch.core.fleet.planfile import MAX_BYTES, DecodedPlan, decode, large_files
from kschedpatch.inputs.files import Unreadable, hash_file, read_bytes
from kschedpatch.model.codes import found
from kschedpatch.model.fleetplan import FleetPlan, NodePlan


def read_plan(path: Path) -> DecodedPlan:
    try:
        data = read_bytes(path, MAX_BYTES)
    except Unreadable as error:
        return DecodedPlan(None, (error.finding(str(path)),))
    decoded = decode(data, str(path))
    if decoded.plan is None:
        return decoded
    findings = []
    for file in large_files(decoded.plan):
        try:
            same = hash_file(file.name, Path(file.location)).sha256 == file.sha256
            problem = "" if same else "it is not the file that was planned with"
        except Unreadable as error:
            problem = error.reason
        if problem:
            findings.append(found("N303", problem, file=file.location, hint="plan again"))
    return DecodedPlan(None if findings else decoded.plan, tuple(findings))


def with_absolute_paths(plan: FleetPlan) -> FleetPlan:
    """A plan file may be used from another directory."""
    return plan._replace(nodes=tuple(_absolute(node) for node in plan.nodes))


def _absolute(node: NodePlan) -> NodePlan:
    generation = node.generation
    if generation is None:
        return node
    files = tuple(
        item
        if item.file.content is not None
        else item._replace(
            file=item.file._replace(location=str(Path(item.file.location).resolve()))
        )
        for item in generation.files
    )
    return node._replace(generation=generation._replace(files=files))
