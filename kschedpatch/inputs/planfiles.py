"""Reads plan files, within bounds; the large files that they name must still be the same."""

from __future__ import annotations

from pathlib import Path

from kschedpatch.core.fleet.planfile import MAX_BYTES, DecodedPlan, decode, large_files
from kschedpatch.inputs.files import Unreadable, hash_file, read_bytes
from kschedpatch.model.codes import found
from kschedpatch.model.fleetplan import FleetPlan, NodePlan
from kschedpatch.model.sources import SourceFile


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
    if node.archive is not None:
        node = node._replace(archive=node.archive._replace(file=_placed(node.archive.file)))
    generation = node.generation
    if generation is None:
        return node
    files = tuple(item._replace(file=_placed(item.file)) for item in generation.files)
    return node._replace(generation=generation._replace(files=files))


def _placed(file: SourceFile) -> SourceFile:
    if file.content is not None:
        return file
    return file._replace(location=str(Path(file.location).resolve()))
